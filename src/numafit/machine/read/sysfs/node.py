"""NUMA nodes in /sys, in the order and with the amounts that the kubelet (through cAdvisor) finds there."""

import re

from numafit.bits import LARGEST_ID
from numafit.machine.model import NumaNode
from numafit.machine.read.sysfs.text import needed_number, refused
from numafit.machine.read.sysfs.tree import Tree

NODES = "sys/devices/system/node"

_NODE = re.compile(r"node(0|[1-9][0-9]{0,4})")
_CPU = re.compile(r"cpu(0|[1-9][0-9]{0,4})")
_PAGES = re.compile(r"hugepages-([0-9]{1,15})kB")
_TOTAL = re.compile(r"MemTotal:[\t\n\f\r ]*([0-9]{1,18}) kB")
_DISTANCE = re.compile(r"[0-9]{1,9}")


def cpu_ids(names: list[str]) -> list[int]:
    """The CPUs among the entries of a directory, in the order given: `cpu10` stands before `cpu2`."""
    found = (_CPU.fullmatch(name) for name in names)
    return [id for match in found if match and (id := int(match[1])) < LARGEST_ID]


def node_ids(tree: Tree) -> list[int]:
    """Sorted as text, as the kubelet meets them: `node10` stands before `node2`."""
    found = (_NODE.fullmatch(name) for name in tree.names(NODES))
    return [id for match in found if match and (id := int(match[1])) < LARGEST_ID]


def read_node(tree: Tree, id: int, source: str) -> NumaNode:
    path = f"{NODES}/node{id}"
    return NumaNode(
        id=id,
        memory=mem_total(tree, f"{path}/meminfo", source) or 0,
        hugepages=_hugepages(tree, f"{path}/hugepages", source),
        distances=_distances(tree, f"{path}/distance", source),
    )


def mem_total(tree: Tree, path: str, source: str) -> int | None:
    """Bytes; the files say kB and mean KiB."""
    text = tree.text(path)
    if text is None:
        return None
    total = _TOTAL.search(text)
    if total is None:
        raise refused("has no line with MemTotal", path, source)
    return int(total[1]) * 1024


def _hugepages(tree: Tree, folder: str, source: str) -> dict[int, int]:
    pages = {}
    for name in tree.names(folder):
        size = _PAGES.fullmatch(name)
        count = needed_number(tree, f"{folder}/{name}/nr_hugepages", source) if size else None
        if size and count is not None:
            pages[int(size[1]) * 1024] = count
    return dict(sorted(pages.items()))


def _distances(tree: Tree, path: str, source: str) -> tuple[int, ...] | None:
    """One number per node by ascending id, whatever the order of the directories."""
    text = tree.text(path)
    if text is None:
        return None
    parts = text.strip().split(" ")
    if not all(_DISTANCE.fullmatch(part) for part in parts):
        raise refused("is not a row of distances", path, source)
    return tuple(int(part) for part in parts)
