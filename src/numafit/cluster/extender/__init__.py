"""The extender: which nodes would admit a pod, told to a kube-scheduler that asks; the second door beside `place/`.

    messages       what a scheduler asks and is answered
    texts          why not, in a few texts that do not differ from node to node
    offers         what was offered to whom, and until when it counts
    counts         what it did, counted
    waiting        pods that were refused, and whether they would be taken by now
    extender       the question: filter and prioritize
    service        the process: the cluster's copy, the server, the metrics
    configuration  what a scheduler needs to ask it
    second         a second scheduler with an extender in its pod

A scheduler has decided about a pod before anybody can see it bound, so an offer counts from the moment in which it is
made. One node is offered by default: then what is promised is exact. Whatever goes wrong here, a pod is scheduled as
without an extender.
"""
