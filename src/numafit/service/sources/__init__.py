"""Where the node that is shown comes from.

Each source has a `node.ShownNode` and yields a `node.Change` for whatever happens.

    demo      pods come and go on a machine of the catalogue, drawn by a seeded generator
    host      this machine with its leases; also frees the leases of those who are gone and moves shared work
    wake      what makes `host` look at once: a process ended, Docker tells of a container
    kubelet   a kubelet's state files, watched; what it decided is seen by what it left there
    cluster   a node of a cluster, whose pods are asked for again and again, and played
    published the same, where numafit's agent on the node publishes who sits where
    listed    the pods that a cluster lists for a node; for `cluster` and `published`
    holders   who holds what, and what is told when that changes; for `kubelet`, `cluster` and `published`

Sources know neither the board nor HTTP, and not each other. The first change says how things stand. One that cannot
be read raises an error of `errors`; the application asks it again and keeps showing what was read last.
"""
