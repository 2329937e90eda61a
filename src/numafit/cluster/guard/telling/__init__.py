"""What people are told of a loop: events on the pod, and on whoever stands behind it.

    owners      who stands behind the owner of a pod
    story       what is told, in sentences
    held        pods that wait behind our gate: a condition, and one event
    teller      one after the other, and no more than somebody can read

Sentences about a rejection come from the engine where the node's report is known; else the kubelet's words are told in
plain ones.
"""
