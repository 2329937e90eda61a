"""A fleet that is planned: nodes to play pods on, from whatever tells of them, and the same with something changed.

    planned    kinds of nodes with the names of those of each kind, and how they stand with nobody on them
    exact      nodes whose agents tell what they are: nothing is assumed of their machines and kubelets
    source     nodes and pods out of the objects of a cluster
    live       these objects, as the API server of a cluster sends them
    sized      the same nodes in another number
    kubelets   another configuration for each kubelet, as each machine wants it
    change     one change of a fleet, and the fleet with it
    words      changes as somebody types them
    usual      changes that are tried where nobody names any

A module calls only those above it in this list. Only `live` speaks to a server, and needs the extra.
"""
