"""The machine file: one YAML or JSON text that holds a whole machine and reads back as the same machine.

    format: numafit/machine/v1
    name: two-sockets
    numaNodes:
    - {id: 0, memory: 64Gi, hugepages: {2Mi: 512}, distances: [10, 21]}
    - {id: 1, memory: 64Gi, distances: [21, 10]}
    cpus:
    - {numa: 0, socket: 0, threads: [0-15, 32-47]}
    - {numa: 1, socket: 1, threads: [16-31, 48-63], cores: 0-15}
    devices:
    - {id: GPU-1, resource: nvidia.com/gpu, numa: [1], kind: gpu, label: GPU0}

A group of `cpus` says what its CPUs have in common. `cpus: 0-13` lists cores of one thread; `threads` holds one
list per thread: the first CPUs of all lists make a core, the second ones the next. `cores` gives the operating
system's core ids; without it a core is called by its first CPU. What is left out is unknown or at its default.

Two things may also be written as the recordings write them: a NUMA node's memory as `memoryBytes`, and the CPUs one
by one as `{cpu, core, socket, numa, uncoreCache}`; their order then counts.

`read` stands on `fields` (typed reading of a mapping, which the host file uses, too), `write` on `plain` (plain
values as YAML or JSON for people, which `machine.convert` uses, too). They do not know each other; `fields` has the
name of the format for both.
"""
