"""Nodes of a cluster.

    group     `numafit node` and its table of commands
    pull      a node kept as a folder, which every command takes
    switch    another configuration for the kubelet of this node
    over_agent
              the same for any node, by its agent
    device_plugin
              `numafit device-plugin`: devices of this node for its kubelet
    node_agent
              `numafit node-agent`: how this node stands, published and compared
    kubelet_sim
              `numafit kubelet-sim`: nodes without hardware

Commands about one live node take `--node NAME` instead (`options.live`).
"""
