"""What is really in use, from the kernel's own files."""

from numafit.host.usage import MemoryUsage, read_nodes

KIB = 1 << 10
NODE = """
Node 1 MemTotal:       24684100 kB
Node 1 MemFree:         7038604 kB
Node 1 Active(anon):       1724 kB
Node 1 Active(file):    3434124 kB
Node 1 Inactive(file):  6051696 kB
Node 1 FilePages:       9498744 kB
Node 1 SReclaimable:    1517952 kB
Node 1 HugePages_Free:      512
"""
NODE_USAGE = MemoryUsage(7038604 * KIB, (3434124 + 6051696 + 1517952) * KIB)


def test_free_memory_and_the_cache_are_told_apart() -> None:
    files = {"sys/devices/system/node/node1/meminfo": NODE, "sys/devices/system/node/node0/meminfo": None}
    assert read_nodes([0, 1], lambda path: files[path]) == {1: NODE_USAGE}
    assert NODE_USAGE.available == NODE_USAGE.free + NODE_USAGE.cache


def test_of_the_only_node_the_machine_tells() -> None:
    """A virtual machine that fills its memory as it is used told a small part of it for its node."""
    assert read_nodes([1], {"proc/meminfo": NODE.replace("Node 1 ", "")}.get) == {1: NODE_USAGE}
