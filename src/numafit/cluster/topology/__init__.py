"""The truth about one node as an object of the cluster: `NodeTopology`, which the agent on the node publishes.

    amounts     bytes of up to 64 bits as texts that survive an API server
    model       the object: what stands in it, as frozen values
    digest      what tells two states of a node apart, and finds an object that was changed by hand
    write       from a node with its ledger to the object
    checks      whether a ledger can be one of its node
    read        from bytes to an object that is whole, or one sentence that says why not
    restore     from the object to machine, configuration, ledger and stage, as they were
    compare     what others tell of the node otherwise

Both ways together change nothing: a decision on what `restore` makes is the decision on what `write` was given.
`definition` has the definition for the API server, which is `nodetopologies.yaml`. Lists and sets are texts and
everything at its default is left out, since 5,000 of these objects go through one API server: 100 pods take less than
32 kB.
"""
