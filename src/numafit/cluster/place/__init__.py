"""The placer: pods that need exact room wait behind a gate until a node has it, and go there only.

    patch         the one change by which a pod is released
    counts        what is counted, for Prometheus
    faults        bugs of ours that must stop nobody else
    releases      that change, sent once, and what became of it
    around/       what decides beside the known nodes: wishes about other pods, and nodes that nobody knows
    candidates    which nodes one pod is offered now
    waiting/      the queue, who of it could be helped, and what waiting pods are told
    narrowed      what a released pod wished before
    successors    whether a Job makes another one of a pod that is deleted, and does not count it
    stuck         pods that were released, and that the scheduler cannot bind
    replacer      what is done about those
    decider       where a pod or a group goes, or why it sleeps on
    scale         who is released for nodes that an autoscaler is to add
    placer        the leader's loop over all that
    troubles      nodes that cannot be used and rights that are missing, as they come and go
    ungate        all gates are taken away, for an uninstall
    manifest      what a cluster needs to run it, with no more rights than it uses
    process       webhook, leader and metrics together, until it is told to stop

Read `patch` and `placer` first. Decisions are made one after the other by one leader, and an offer counts from the
moment when it is made; nothing is kept anywhere but in the pods themselves.
"""
