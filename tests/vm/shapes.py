"""The virtual machines that tests boot, and the one whose capture is kept in `tests/machine/captures`."""

from tests.vm.shape import Node, Pci, Shape

TWO_SOCKETS = Shape(
    nodes=(Node(cpus=8, memory=1024), Node(cpus=8, memory=1024)),
    sockets=2,
    threads=2,
    distances=((10, 21), (21, 10)),
    devices=(Pci(node=0), Pci(node=0), Pci(node=1), Pci(node=1)),
)

MEMORY_ONLY = Shape(
    nodes=(Node(cpus=4, memory=768), Node(cpus=4, memory=512), Node(cpus=2, memory=512), Node(cpus=0, memory=1024)),
    distances=((10, 14, 21, 17), (14, 10, 21, 24), (21, 21, 10, 28), (17, 24, 28, 10)),
    devices=(Pci(node=2), Pci(node=3)),
    cgroup=1,
)
"""One socket with three uneven NUMA nodes and a fourth without CPUs; cgroups of the first version."""

BIG = Shape(
    nodes=(Node(cpus=32, memory=1024),) * 4,
    sockets=2,
    dies=2,
    threads=2,
    distances=((10, 12, 32, 32), (12, 10, 32, 32), (32, 32, 10, 12), (32, 32, 12, 10)),
    devices=tuple(Pci(node) for node in range(4) for _ in range(2)),
)
"""128 CPUs, two NUMA nodes per socket. `python -m tests.vm.capture` makes its capture anew."""
