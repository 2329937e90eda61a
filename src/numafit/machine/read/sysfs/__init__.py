"""/sys and /proc as the kubelet reads them, through cAdvisor: the same files, the same order, the same omissions.

From the bottom up, and each may use only those before it:

    archive   a .tgz or .tar read in memory, never unpacked to disk
    tree      the three places such files come from: live, a folder, an archive
    text      numbers, CPU lists and masks in small files; `host` uses it for cgroups, too
    node      NUMA nodes: memory, huge pages, distances
    cpu       CPUs and caches: where each sits, what the kubelet takes for its uncore cache
    pci       GPUs, network cards and disks, and what lies above them
    machine   all of it as one `Machine`; begin here
    capture   exactly the files that `machine` reads, without what is private, packed as a .tgz

Readers ask a `Tree` for texts, names and links, and do not know which of the three it is; `capture` uses that to
note what was asked. The hard idea: a missing file is normal, an odd one is refused only where the kubelet, too,
would stop.
"""
