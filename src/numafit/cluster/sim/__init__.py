"""Simulated kubelets: nodes of a real cluster without hardware, whose pods are decided by the engine.

    bound         a pod that is bound to a node, as much of it as a kubelet looks at
    life          such a pod on its kubelet: how its containers live and end
    kubelet       one kubelet: events in, what is to be told out; no network and no clock
    status        the status of a pod, as a kubelet of that release writes it
    node_object   the Node: what it registers with, and its status
    state         state files in a folder of each node
    file          the file that says which nodes there are
    group         kubelets out of that file; those of a group share what is equal
    table         nodes as rows of a table: what they have is told, the rest assumed
    dump          nodes and pods out of what kubectl printed
    served        pods of the API server, read and made known to a kubelet
    writer        statuses on their way to the API server
    heartbeat     Node objects and leases, kept young
    topologies    a NodeTopology of each node, as its agent would publish it
    sockets/      what a kubelet serves on its node: PodResources, and the registry of device plugins
    fleet         all of it together, for many nodes in one process
    run, rights   the front door; what RBAC must allow

A module calls only those above it in this list. Nothing is run: containers are entries in a table, and end when an
annotation says so. What is decided, and what is told of it, is what a kubelet would.
"""
