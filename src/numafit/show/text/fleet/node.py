"""One node of a cluster: its machine drawn, and who sits where."""

from collections.abc import Sequence

from numafit.amounts import size_text
from numafit.bits import cpuset_text
from numafit.fleet.look.rows import FleetRow
from numafit.fleet.look.seats import PodSeat
from numafit.show.table import PLAIN, WARNING, Screen, aligned
from numafit.show.text.fleet.top import stranded_text
from numafit.show.words import ids_text, printable

HEADS = ("POD", "NUMA", "CPUS", "MEMORY", "DEVICES", "")


def node_head(row: FleetRow, release: str) -> str:
    usage = row.usage
    cordoned = "" if row.schedulable else ", cordoned"
    parts = [f"{row.name}: kubelet {release}, topology policy {row.policy}{cordoned}"]
    free = []
    if usage.cpus.total:
        free.append(f"{usage.cpus.free} of {usage.cpus.total} CPUs, {usage.largest} of them on one NUMA node")
    if usage.gpus.total:
        free.append(f"{usage.gpus.free} of {usage.gpus.total} GPUs")
    if usage.memory.total:
        free.append(f"{size_text(usage.memory.free)} of {size_text(usage.memory.total)}")
    if free:
        parts.append(f"Free: {'; '.join(free)}. Stranded: {stranded_text(usage)}.")
    return "\n".join(parts)


def seats_text(seats: Sequence[PodSeat], coming: Sequence[str], screen: Screen = PLAIN) -> str:
    """Those that hold something, each in a row; of the others how many there are."""
    own = [seat for seat in seats if not seat.holding.empty]
    parts = []
    if own:
        parts.append(aligned([HEADS, *(_row(seat, screen) for seat in own)], screen=screen))
    sharing = len(seats) - len(own)
    if sharing == 1:
        parts.append("1 pod shares what is left, and holds nothing of its own.")
    elif sharing:
        parts.append(f"{sharing} pods share what is left, and hold nothing of their own.")
    if coming:
        parts.append(f"Bound to it, and not in its report yet: {', '.join(coming)}.")
    return "\n\n".join(parts) or "Nobody is there."


def _row(seat: PodSeat, screen: Screen) -> Sequence[str]:
    holding = seat.holding
    sizes: dict[str, int] = {}
    for block in holding.memory:
        sizes[block.type] = sizes.get(block.type, 0) + block.size
    memory = ", ".join(size_text(size) + ("" if name == "memory" else f" {name}") for name, size in sizes.items())
    devices = ", ".join(f"{len(ids)} {resource}" for resource, ids in holding.devices.items())
    return (
        printable(seat.pod.known_name),
        ids_text(holding.nodes) or "-",
        cpuset_text(holding.cpus) or "-",
        memory or "-",
        devices or "-",
        screen.paint("split", WARNING) if seat.split else "",
    )
