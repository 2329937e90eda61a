"""A fleet in time: pods arrive and end, a rule chooses a node for each, and its kubelet decides.

    trace       which pods come when, for how long: read from CSV or JSON lines
    sums        nodes as a scheduler sees them: what they offer, and what is asked for on them
    rules       which node a pod goes to: ours, and the scores of kube-scheduler
    large       large pods that nobody sends: how many of them could still come
    outcome     what is counted, as values
    run         one rule from the first pod to the last

A module calls only those above it. There is no clock and no chance: the same fleet and the same trace give the same
numbers. Every pod is decided by the engine, whatever the rule believes.
"""
