"""Several partial machines made one, and what their sources disagree about.

    machine   the front door: ranks the sources, combines the parts, and does links, caches and totals itself
    cpus      each attribute of a CPU from the first source that states it
    nodes     NUMA nodes: which there are, memory, huge pages, distances
    devices   which descriptions are of one device, and what is said about it
    unstated  what no source states, for `Machine.assumed`

`machine` calls the other four, which do not know each other. Whose word counts first is in `machine.source`: what
a person wrote down, then the nearer to what the kubelet itself reads. The hard part is `devices`: sources name one
GPU by UUID, PCI address or label, and its NUMA node is what the device plugin reads in /sys, not what the driver
says.
"""
