"""The API server of Kubernetes: one client, which asks and never changes anything.

    access      which server and as whom: a kubeconfig, or the service account of the pod that this runs in
    plugin      credentials that another program hands out
    expiry      until when a certificate or a token is good
    failure     what goes wrong, as one sentence with its cure
    client      one question and its answer; lists page by page

Answers are bytes: what is read in them is the matter of whoever asked. lightkube knows kubeconfig's fields, makes the
TLS context and the authentication; it does not know plugins of `client.authentication.k8s.io/v1`, kubeconfigs of
several files, `tls-server-name` and `proxy-url`, which are added here.
"""
