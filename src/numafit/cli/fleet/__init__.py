"""All nodes of a cluster together: `numafit fleet`, which is `kubectl numafit`, too.

    group     the group and its table of commands

What a command computes is in `cluster/view` and in the rooms below it. Commands about one node and its kubelet are in
`kubelet/` and take `--node NAME`; clusters of one's own are in `cluster/`.
"""
