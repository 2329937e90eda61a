"""Links between devices: what their kinds mean and carry, how NVIDIA's plugin scores them, and the way over PCIe.

The kinds are the words of `nvidia-smi topo -m`. Rates are typical ones for one direction, rounded, taken from what the
generation of the bus promises and from published peer-to-peer measurements; numafit does not measure them.

`pci_links` tells how devices reach each other from their places alone. /sys does not say whether two GPUs also have
NVLinks, so these links are for machines whose links no other source tells.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec

from numafit.machine.model import Device, Link

PCIE_GENERATIONS = (3, 4, 5)


class LinkKind(msgspec.Struct, frozen=True):
    name: str
    meaning: str
    score: int
    """Of a pair of GPUs in the best-effort allocation of NVIDIA's device plugin; NVLinks add `NVLINK_SCORE` each."""
    rates: tuple[int, ...] = ()
    """GB/s in one direction over PCIe x16 of generation 3, 4 and 5; empty for NVLink."""


LINK_KINDS: Mapping[str, LinkKind] = {
    kind.name: kind
    for kind in (
        LinkKind("PIX", "behind one PCIe switch", 50, (13, 26, 54)),
        LinkKind("PXB", "several PCIe switches, not the host bridge", 40, (13, 26, 54)),
        LinkKind("PHB", "through one PCIe host bridge (the CPU)", 30, (12, 24, 54)),
        LinkKind("NODE", "between host bridges of one NUMA node", 20, (10, 22, 50)),
        LinkKind("SYS", "across NUMA nodes, over the link between sockets", 10, (8, 16, 40)),
    )
}
NVLINK_MEANING = "a bond of # NVLinks, directly or through NVSwitch"
NVLINK_SCORE = 100
MOST_NVLINKS = 18
"""Of one GPU, over all generations so far."""


class Generation(msgspec.Struct, frozen=True):
    """What a GPU speaks."""

    pcie: int
    nvlink_rate: float
    """GB/s of one link in one direction; 0 without NVLink."""


# Public data sheets: NVLink 1 (P100) carries 20 GB/s a link and direction, NVLink 2 to 4 carry 25, NVLink 5 carries 50;
# the NVLink 3 of GA102 (A40, RTX A6000) is narrower. Longer names first: `A100` must not be read as `A10`.
GENERATIONS: Sequence[tuple[str, Generation]] = (
    ("GB300", Generation(5, 50)),
    ("GB200", Generation(5, 50)),
    ("GH200", Generation(5, 25)),
    ("B300", Generation(5, 50)),
    ("B200", Generation(5, 50)),
    ("B100", Generation(5, 50)),
    ("H200", Generation(5, 25)),
    ("H100", Generation(5, 25)),
    ("H800", Generation(5, 25)),
    ("H20", Generation(5, 25)),
    ("A100", Generation(4, 25)),
    ("A800", Generation(4, 25)),
    ("A6000", Generation(4, 14)),
    ("A40", Generation(4, 14)),
    ("A30", Generation(4, 25)),
    ("A10", Generation(4, 0)),
    ("L40", Generation(4, 0)),
    ("L4", Generation(4, 0)),
    ("V100", Generation(3, 25)),
    ("P100", Generation(3, 20)),
    ("T4", Generation(3, 0)),
)


def generation_of(name: str) -> Generation | None:
    """By the product's name, such as `NVIDIA A100-SXM4-80GB`; None when it is not in the table."""
    words = "".join(letter if letter.isalnum() else " " for letter in name.upper()).split()
    for word, generation in GENERATIONS:
        if any(part == word or part == word + "S" for part in words):
            return generation
    return None


def nvlinks(kind: str) -> int:
    """The number in `NV12`; 0 for any other kind."""
    digits = kind[2:]
    return int(digits) if kind.startswith("NV") and digits.isascii() and digits.isdigit() and len(digits) < 4 else 0


def link_score(kind: str) -> int:
    """Greater is nearer; 0 for a kind that is not known. What PCIe path lies beside NVLinks is not counted here."""
    known = LINK_KINDS.get(kind)
    return known.score if known else NVLINK_SCORE * nvlinks(kind)


def link_meaning(kind: str) -> str:
    known = LINK_KINDS.get(kind)
    if known:
        return known.meaning
    return NVLINK_MEANING.replace("#", str(nvlinks(kind))) if nvlinks(kind) else "not known to numafit"


def rate_text(kind: str, generation: Generation | None) -> str:
    """`26 GB/s`, or a range over the generations when the GPU's own is not known; empty for an unknown kind."""
    known = LINK_KINDS.get(kind)
    if known:
        if generation is None:
            return f"{known.rates[0]} to {known.rates[-1]} GB/s"
        return f"{known.rates[PCIE_GENERATIONS.index(generation.pcie)]} GB/s"
    links = nvlinks(kind)
    if not links:
        return ""
    if generation is None or not generation.nvlink_rate:
        return f"{20 * links} to {50 * links} GB/s"
    return f"{generation.nvlink_rate * links:g} GB/s"


_KINDS = ("gpu", "nic")


def pci_links(devices: Sequence[Device]) -> tuple[Link, ...]:
    """Between GPUs and network cards, in the order of the devices. A pair whose way is not known has no link."""
    placed = [device for device in devices if device.kind in _KINDS and device.bus]
    pairs = ((a, b, _kind(a, b)) for a, b in combinations(placed, 2))
    return tuple(Link(a.id, b.id, kind) for a, b, kind in pairs if kind)


def _kind(a: Device, b: Device) -> str:
    if a.switch and a.switch == b.switch:
        return "PIX"
    if a.root_port and a.root_port == b.root_port:
        # Functions of one card share the root port and nothing else lies between them.
        return "PXB" if a.switch or b.switch else "PIX"
    if _host_bridge(a) == _host_bridge(b):
        return "PHB"
    if a.numa is None or b.numa is None:
        return ""
    return "NODE" if a.numa == b.numa else "SYS"


def _host_bridge(device: Device) -> str:
    """The bus that hangs at the host bridge: the one of the root port, or the device's own."""
    return (device.root_port or device.bus).rpartition(":")[0]
