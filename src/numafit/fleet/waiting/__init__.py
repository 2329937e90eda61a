"""Pods that no node takes: why, what would help, and who waits for whom.

    ends      a node after some of its pods have ended, and which ends would let a pod in
    lack      what a node lacks for a pod, in the pod's own terms; one lack for many nodes
    change    the smallest change of a pod after which it would start now
    why       all of that for one pod and the whole fleet, as a value
    words     the value as one sentence for a condition and an event

Begin with `why`. Nothing is counted that could be decided: that a node would take the pod after somebody ended, with
nobody on it or with a smaller number is what the engine said about just that.
"""
