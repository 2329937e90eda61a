"""What this machine really does: bandwidth and latency between its NUMA nodes, and what binding brings a command.

    result    the values: a figure with its spread, pairs of nodes, pairs of CPUs, copies to a GPU
    code      some fifty bytes of machine code, for the two things that Python is too slow for
    pages     memory on a chosen NUMA node, and the proof that it lies there
    rates     one figure: bytes read by some CPUs, nanoseconds of a load, of a message between two CPUs
    cuda      copies between a NUMA node and a GPU, through NVIDIA's driver library
    choice    which CPUs, nodes, pairs and how much memory: nothing that a lease holds
    survey    the whole machine, round after round; it can be stopped at any time
    kept      the last survey of a machine, on disk
    gain      ways to run a command, and two of them compared: how much, how sure; pure
    command   a command run as it is, bound well and bound badly, in turns

Read `result`, `rates`, `survey`; then `gain` and `command`, which need none of them but `result`.

Reading is done by the C library's `memchr`, which looks for a byte that is not there: it is vectorised, and while it
runs Python's other threads do, too. A load that waits for the one before it, and a message between two CPUs, cannot be
had so. They are machine code in a file in memory, which is mapped to be executed: no compiler is needed, nothing
is left on the disk, and where the kernel refuses it, or on a processor for which there is no code, the figure is
missing and that is said.

No figure is given for memory of which the kernel does not say that it lies where it should.
"""
