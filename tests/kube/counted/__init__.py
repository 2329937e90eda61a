"""Counted side by side: what becomes of the same owners on the same fleet, stock and with each door of numafit.

    fleet       100 simulated nodes that are 90 % full, most of what is free being spread over NUMA nodes
    owners      a ReplicaSet, a StatefulSet, a Job, and a JobSet with its controller; or thousands of short pods
    watched     every pod that was made, what became of it, and when
    ways        stock, guard, place, extender, and the rival: which programs run, each on a control plane of its own

    unrest      two placers and all else are killed by chance while pods come and go

    python -m tests.kube.counted --seconds 60
    python -m tests.kube.counted --ways place --many 10000

The first prints a table of all ways (of a rival, too, where it is built: `tests.kube.rival`); the second counts the
rejections of many pods. A rejection of a pod that the placer released is a fault: its pod and the node's state are
printed.
"""
