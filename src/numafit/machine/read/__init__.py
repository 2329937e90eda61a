"""One reader for each kind of description: text or a tree of files in, a `Machine` out, perhaps a partial one.

Start with `numactl`, the smallest; all readers of text have its form, `read_x(data, source)`, and refuse what they
cannot understand with file, line and what to do. `recognise` tells by the content which reader a text needs and
loads only that one: whoever adds a reader adds it to the tables there and, with its rank, to `machine.source`.

    text          what readers of tool output share: decoding, numbers, lists of ids, PCI addresses
    pci           PCI functions, and the devices among them that matter to a workload; for lspci, hwloc/ and sysfs/
    lscpu numactl lspci nvidia_smi     what these tools print
    cadvisor podresources              what the kubelet, or its part, answers as JSON
    nrt           NodeResourceTopology objects: NUMA nodes as a cluster tells of them
    hwloc/        lstopo's XML
    sysfs/        /sys and /proc: live, in a folder or in a .tgz
    recognise     which of them it is; machine files and sketches count, too

Readers do not know each other. The hard idea is the kubelet's order: it meets NUMA nodes and CPUs as names in
folders, node10 before node2, and the kubelet's order of cores follows from it. So readers of text that know CPUs
end with `machine.order`; cAdvisor's answer is in that order already, and `sysfs` lists the same folders as the
kubelet.
"""
