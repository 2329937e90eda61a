"""Pods that wait: why no node takes them, what would help, who comes first, and who comes together.

    ends      a node after some of its pods have ended, and which ends would let a pod in
    lack      what a node lacks for a pod, in the pod's own terms; one lack for many nodes
    memory    what was found before
    crowds    the nodes that do not take a pod, sorted by what stands in the way
    change    the smallest change of a pod after which it would start now
    why       all of that for one pod and the whole fleet, as a value
    words     the value as one sentence for a condition and an event
    reserve   a node kept for a large pod, so that small ones do not take every share before it
    members   which pods have to start together, by what they and their owners say
    groups    whether all of a group are there, and a node for each of them or for none

Begin with `why`; `reserve` and `groups` stand beside it. Nothing is counted that could be decided: that a node would
take the pod after somebody ended, with nobody on it or with a smaller number is what the engine said about just that.
There is no clock in here: who asks tells the time.
"""
