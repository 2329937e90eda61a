"""The loop guard: an owner whose pods kubelets reject again and again waits, and people are told why.

    words       names of the guard that stand in objects of the cluster
    record      what is remembered of an owner, as a value and as a text
    patience    what is a loop, and for how long the next pod of one waits
    instructions  what the rules say that is to be done
    rules       when pods are held and when one is let go: a state machine without clock and network
    leftovers   rejected pods that are too many
    policies    the policies that gate pods and mark those of Jobs, as objects of the API
    memory      the ConfigMap: the parameter of the policy, and what a new guard begins with
    failed      a copy of all rejected pods
    namespaces  which ones are guarded
    engine      which nodes can take a pod that waits
    telling/    events on pods and on owners: who stands behind a pod, and the sentences
    hands       what is changed: a gate goes, a leftover goes
    replacer    pods that were released, and that the scheduler cannot bind
    counts      metrics, readiness, liveness
    guard       all of it together
    installed   what has to be there, and how everything is opened
    service     the process: one of several acts, and the last one to end leaves nothing held
    beside      the same beside the placer, with its fleet, leader and webhook
    manifest    what a cluster needs to run it

Begin with `rules`. Who runs a `LoopGuard` beside something else hands it a `LiveFleet` that runs already.
"""
