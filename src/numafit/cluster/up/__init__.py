"""A control plane on this host, for tests and for trying things out: `numafit cluster up`.

    processes      programs that end with the process that started them, also when that one is killed
    ports          ports of loopback that nobody listens on
    programs       etcd and the programs of Kubernetes, in a folder or on the PATH
    certificates   a certificate authority and what it signs, with openssl; kubeconfigs
    folder         where all of it is kept: locked, used again, or removed at the end
    flags          what each program is told
    probe          the questions to the API server while it starts
    control_plane  all of them, started in order, watched, and taken down
    simulated      nodes beside it: `numafit kubelet-sim` as one more program
    command        somebody's command, for which a cluster is there as long as it runs

Nothing listens beyond loopback, RBAC and the Node authorizer decide. What is started here is nobody's production: one
etcd, no load balancer, no proxy, no network for pods. It needs no extra: the few questions are asked with Python's own
HTTP. Real kubelets join it in `tests/kube` alone.
"""
