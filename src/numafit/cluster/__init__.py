"""On Kubernetes: what numafit asks a cluster, and what it makes of the answers.

    kube/       the API server: which one, as whom, its answers and its refusals
    https/      a small server for what others ask of us, with certificates from files or memory
    wire/       the kubelet's own sockets: messages and calls of device plugins and PodResources
    device/     the device plugin: devices of this node, offered to its kubelet
    node/       the agent of a node: learns it, publishes it, compares its decisions
    topology/   the truth about one node as an object of the cluster, both ways
    claims/     devices that resource claims (DRA) give to pods, and where they are
    up/         a control plane of one's own on this host
    sim/        nodes without hardware: simulated kubelets of a real cluster
    switch/     another configuration for this node's kubelet: a plan, steps in a journal, and the way back
    admission/  the webhook: gates for pods that are created, its certificate and its configuration
    orders/     the same for any node, ordered through the API server and done by its agent
    live/       the cluster as a fleet: Nodes, NodeTopologies and pods, and what follows from them
    view/       the cluster looked at once, for people: `kubectl numafit`
    plan/       a fleet to play pods on, from files or the cluster, and the same with something changed
    place/      the placer: pods wait behind a gate until a node has room, and go there
    extender/   which nodes would admit a pod, for a kube-scheduler that asks
    guard/      the loop guard: owners whose pods are rejected again and again wait
    case/       one node as the cluster tells of it, kept as a value or as a folder

Read `kube/` first. Whatever only a cluster needs is an extra (`numafit[kubernetes]`): nothing outside this room
imports it before somebody asks for a node.
"""
