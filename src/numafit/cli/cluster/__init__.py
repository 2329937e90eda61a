"""Clusters of one's own.

    group     `numafit cluster` and its table of commands
    up        a control plane on this host, with simulated nodes or without, as long as it is wanted
    guard     owners whose pods are rejected again and again, in somebody's cluster
    place     the placer of somebody's cluster: a webhook and a leader

What is asked of somebody's cluster is in `node/`, and `options.live` says which one.
"""
