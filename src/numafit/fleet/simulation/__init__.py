"""A fleet in time: pods arrive and end, a rule chooses a node for each, and its kubelet decides.

    controllers   who makes a rejected pod again, and how soon
    sums          nodes as a scheduler sees them: what they offer, and what is asked for on them
    rows          rows of CSV with their lines; one that cannot be read is told
    trace         which pods come when, for how long: read from CSV or JSON lines
    scores        what kube-scheduler makes of a node for a pod
    board         what that is for each node, kept as nodes change
    rules         which node a pod goes to: ours, and the scores of kube-scheduler
    outcome       what is counted, as values
    large         large pods that nobody sends: how many of them could still come
    reached       how near to each other that is what pods were given
    look          how the fleet stands at some moments
    loops         pods that are rejected dozens of times in a second: counted, not played
    saved         a run that was stopped, as values
    run           one rule from the first pod to the last

A module calls only those above it. There is no clock, and chance comes from a seed: the same fleet and the same
trace give the same numbers. Every pod is decided by the engine, whatever the rule believes.
"""
