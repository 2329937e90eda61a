"""What decides about a pod's nodes beside the known nodes themselves.

    wishes        what a pod requires of other pods: to be spread among them, near some, apart from some
    neighbours    nodes on which that holds, as the scheduler would find it
    volumes       nodes that reach a pod's volumes
    unknown       nodes that no NodeTopology tells of, by labels, taints and sums
    preempt       nodes where a pod is admitted once the scheduler has evicted pods of lower priority

All of it is pure: no network and no clock.
"""
