"""The agent of a node: it learns the node from itself, publishes how it stands, and watches how its kubelet decides.

What it reads, each by itself:

    watch              files that change, told by the kernel
    process            the kubelet that runs here: its command line, and the configuration that this names
    configz            the configuration as the kubelet itself tells it, and with which right
    sockets            PodResources: devices with their NUMA nodes
    state              who holds what, from the three state files
    pods               the pods of the node, from the API server
    claims             devices that ResourceClaims give to them, beside the kubelet's managers
    fingerprint        a hash of the pods' names, as other schedulers compute it

What it makes of that:

    learn              a started node with nobody on it, and notes on what could not be learnt
    compare            what the kubelet decided beside what the engine decides, when all is quiet again
    recordings         decisions that differ, kept for `numafit replay`
    publish            the NodeTopology, and an annotation on the Node that wakes schedulers
    resource_topology  a NodeResourceTopology, where nobody else publishes one
    metrics            what it counts, served for Prometheus

`agent` puts all of it together, look by look; `service` runs it as a process; `manifest` is what a cluster needs for
it. One look takes everything at one moment: what is published and what is compared is the same value.
"""
