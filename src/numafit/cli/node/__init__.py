"""Nodes of a cluster.

    group     `numafit node` and its table of commands
    pull      a node kept as a folder, which every command takes

Commands about one live node take `--node NAME` instead (`options.live`).
"""
