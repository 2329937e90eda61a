"""Clusters: one of one's own, and what runs in any.

    group             `numafit cluster` and its table of commands
    up                a control plane on this host, with simulated nodes or without, as long as it is wanted
    place             the placer of somebody's cluster: a webhook and a leader
    guard             owners whose pods are rejected again and again, in somebody's cluster
    extender          the nodes that would admit a pod, for a kube-scheduler that asks
    scheduler_config  what a kube-scheduler needs to ask it

What is asked of somebody's cluster is in `node/`, and `options.live` says which one.
"""
