"""All nodes of a cluster together: `numafit fleet`, which is `kubectl numafit`, too.

    group         the group and its table of commands
    explain       how a pod stands: where it sits, why it was rejected, why it waits
    why_pending   all pods that wait, one sentence each
    top           nodes: what is free, what is stranded, who is split
    node          one node, drawn
    fit           how many more pods fit, and where
    simulate      pods that arrive and end in time, placed by several rules; it asks no cluster
    what_if       the same with one thing changed: what it gains
    enough        how many nodes it needs, found by playing some numbers
    sources       their nodes and pods, from files or a cluster
    run_options   their chance, their processes, and what is written
    plays         several policies and rules of it at once, in processes
    kept          what there is of them when they are stopped, in a file
    doctor        configuration and release of every node
    view          what they share: which cluster, one look at it, rights that lack

What a command computes is in `cluster/view` and in the rooms below it. Commands about one node and its kubelet are in
`kubelet/` and take `--node NAME`; clusters of one's own are in `cluster/`.
"""
