"""How much of a process's memory lies on the wrong NUMA nodes, and whether that is worth a word."""

import msgspec

from numafit.host.numa_maps import Pages
from numafit.machine.bits import cpuset_text, mask_of
from numafit.machine.draw.words import size_text
from numafit.machine.model import Machine

WRONG_SHARE = 0.05
WRONG_BYTES = 16 << 20
"""Less than that, by share or by amount, is what programs share with others: libraries and what was read of files."""


class Misplaced(msgspec.Struct, frozen=True):
    wrong: dict[int, int]
    """NUMA node -> bytes."""
    of_files: int
    """The part of these bytes that is the cache of files."""
    total: int

    @property
    def amount(self) -> int:
        return sum(self.wrong.values())

    @property
    def text(self) -> str:
        nodes = cpuset_text(mask_of(self.wrong))
        files = f", {size_text(self.of_files)} of that of files" if self.of_files >= WRONG_BYTES else ""
        share = round(100 * self.amount / self.total)
        return f"{share}% of its memory ({size_text(self.amount)}{files}) lies on NUMA node {nodes}"

    def cure(self, pid: int, right: int) -> str:
        move = f"migratepages {pid} {cpuset_text(mask_of(self.wrong))} {cpuset_text(right)}"
        if 2 * self.of_files > self.amount:
            return f"{move}; the cache of files moves only when it is dropped and read again"
        return f"{move}; start it with numafit run, which binds before the first page"


def misplaced(machine: Machine, pages: Pages | None, right: int) -> Misplaced | None:
    """None when all is well, little is wrong or nothing is known. Memory that is a device's own does not count."""
    if pages is None or not right:
        return None
    own = mask_of(node.id for node in machine.numa_nodes if node.device)
    wrong = {node: amount for node, amount in pages.nodes.items() if not (right | own) >> node & 1}
    found = Misplaced(wrong, sum(pages.file_nodes.get(node, 0) for node in wrong), pages.total)
    if found.amount < WRONG_BYTES or found.amount < WRONG_SHARE * pages.total:
        return None
    return found
