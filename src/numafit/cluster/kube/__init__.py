"""The API server of Kubernetes: a client that asks and never changes anything, and one for what runs on and on.

    access      which server and as whom: a kubeconfig, or the service account of the pod that this runs in
    plugin      credentials that another program hands out
    expiry      until when a certificate or a token is good
    credentials what is shown to the server, and whom to trust there
    failure     what goes wrong, as one sentence with its cure
    client      one question and its answer; lists page by page
    clock       what time it is by the API server
    chunks      an answer that goes on and on, taken apart as it comes
    connection  HTTP over connections that stay open
    api         many requests at a time, changes among them; watches
    objects     the little that all objects have
    rights      what an account may do, as objects for RBAC
    families    metrics with one label
    health      what went wrong, counted
    probes      where a process tells how it is
    signals     how it is told to end
    pace        how long to wait before another try
    reflector   a copy of all objects of a kind, kept up to date
    events      a sentence about an object
    election    one leader among several

Answers are bytes: what is read in them is the matter of whoever asked. lightkube knows kubeconfig's fields, makes the
TLS context and the authentication; it does not know plugins of `client.authentication.k8s.io/v1`, kubeconfigs of
several files, `tls-server-name` and `proxy-url`, which are added here. Typed clients keep whole objects, a hundred
times of what is used of them: here whoever wants objects says which of their fields.
"""
