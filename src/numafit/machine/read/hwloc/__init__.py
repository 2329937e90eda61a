"""hwloc's XML, version 2, as `lstopo --of xml` writes it, and the text that lstopo prints on a terminal.

    objects   the file as a plain tree of objects; refuses entities, deep nesting and odd numbers, interprets nothing
    machine   what the tree means: CPUs, caches, NUMA nodes with distances, PCI devices
    console   the text, of hwloc 1 and 2; and the refusal of drawings

Only `machine` calls `objects`. The hard idea: hwloc hangs a NUMA node without CPUs beside one that has some, with
the same CPU set; which of the two owns the CPUs is then a stand-in.
"""
