"""The cluster as a fleet: its Nodes, NodeTopologies and pods, kept as the one value that answers where a pod goes.

    words       names of ours that stand in objects of the cluster
    spec        from the spec of a pod to the engine's pod, made once for equal specs
    pods        a pod of the cluster, and as the API server sends it
    trust       who is believed which nodes a pod counts on
    placed      the condition that tells a pod why it waits
    nodes       a Node, as far as it says who may come
    kinds       nodes of one kind are started once; a report makes the state of one of them
    book        what each change means for the fleet, without network and clock
    fleet       the copies, kept up to date, and the book that follows them
    needs       which pods need a decision of ours

Who decides asks `LiveFleet.places`, and tells it what was offered before anybody else can know. What is promised and
not reported counts; what has ended counts until its kubelet has reported without it.
"""
