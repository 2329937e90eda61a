"""How leases read: who holds what, what is left, and what happened, as tables."""

import time
from collections.abc import Mapping, Sequence

from numafit.advice.verdict import HolderVerdict
from numafit.amounts import size_text
from numafit.bits import cpuset_text
from numafit.host.book.tables import LeaseEvent
from numafit.host.free import HostFree, NodeFree
from numafit.host.lease import Lease, memory_of
from numafit.show.records.alignment import why_text
from numafit.show.records.time import time_text
from numafit.show.table import PLAIN, Screen, aligned
from numafit.show.words import printable

WIDEST_COMMAND = 40
HEADER = ("LEASE", "USER", "PLACED", "NODES", "CPUS", "MEMORY", "DEVICES", "SINCE", "BOUND BY", "COMMAND")


def leases_text(
    leases: Sequence[Lease],
    labels: Mapping[str, str],
    screen: Screen = PLAIN,
    lying: Mapping[str, HolderVerdict] | None = None,
) -> str:
    """`lying`: how they lie, as far as it is known."""
    if not leases:
        return "No leases: nobody holds anything."
    known = lying or {}
    rows: list[Sequence[str]] = [HEADER]
    rows += [
        (
            lease.id,
            printable(lease.user),
            known[lease.id].lying if lease.id in known else "-",
            cpuset_text(lease.nodes) or "any",
            cpuset_text(lease.exclusive) or f"shared {cpuset_text(lease.bound)}".strip(),
            size_text(memory_of(lease)) if lease.memory else "-",
            devices_text(lease.devices, labels) or "-",
            age_text(lease.since) + (f" of {limit_text(lease.seconds)}" if lease.seconds else ""),
            lease.rung or "-",
            _command(lease),
        )
        for lease in leases
    ]
    apart = [f"{one.label} is {word}" for one in leases if (word := _apart(known.get(one.id), labels))]
    return "\n".join([aligned(rows, screen=screen), *([""] if apart else []), *apart])


def _apart(found: HolderVerdict | None, labels: Mapping[str, str]) -> str:
    """Why it does not lie together; empty where it does."""
    if found is None or found.lying in ("aligned", "shared"):
        return ""
    return printable(f"{found.lying}: {why_text(found, labels)}")


def devices_text(devices: Mapping[str, Sequence[str]], labels: Mapping[str, str]) -> str:
    return ",".join(labels.get(device, device) for ids in devices.values() for device in ids)


def _command(lease: Lease) -> str:
    return _shortened(f"{lease.name}: {lease.command}" if lease.name else lease.command)


def _shortened(command: str) -> str:
    text = printable(command) or "-"
    return text if len(text) <= WIDEST_COMMAND else text[: WIDEST_COMMAND - 1] + "…"


def free_text(free: HostFree, labels: Mapping[str, str], screen: Screen = PLAIN) -> str:
    looked = any(node.usage is not None for node in free.nodes)
    rows: list[Sequence[str]] = [("NODE", "CPUS FREE", "", "MEMORY FREE", *(("REALLY FREE",) * looked), "DEVICES FREE")]
    for node in free.nodes:
        rows.append(
            (
                str(node.id),
                f"{node.cpus.bit_count()} of {node.all_cpus}",
                cpuset_text(node.cpus) or "-",
                f"{size_text(node.memory)} of {size_text(node.all_memory)}" if node.all_memory else "-",
                *((_really_free(node),) * looked),
                ",".join(labels.get(device, device) for ids in node.devices.values() for device in ids) or "-",
            )
        )
    if free.unplaced:
        rows.append(("any", "-", "-", "-", *(("-",) * looked), devices_text(free.unplaced, labels)))
    lines = [aligned(rows, screen=screen), "", f"Largest aligned job: {_shape(free.largest, free.pool)}"]
    lines.append(f"Shared pool: CPUs {cpuset_text(free.pool) or '-'}")
    return "\n".join(lines)


def _really_free(node: NodeFree) -> str:
    """Whoever claimed it; the cache of files is given up when somebody needs the memory."""
    usage = node.usage
    return "-" if usage is None else f"{size_text(usage.free)} and {size_text(usage.cache)} of cache"


def _shape(node: NodeFree | None, pool: int) -> str:
    if node is None:
        return "none; nothing is free" if pool else "none; every CPU is held"
    devices = "".join(f" --device {resource}={len(ids)}" for resource, ids in node.devices.items() if ids)
    memory = f" --memory {node.memory >> 20}Mi" if node.memory >> 20 else ""
    cpus = f" --cpus {node.cpus.bit_count()}" if node.cpus else ""
    return f"on node {node.id}:{cpus}{memory}{devices}"


def history_text(entries: Sequence[LeaseEvent], screen: Screen = PLAIN) -> str:
    if not entries:
        return "No history yet."
    rows: list[Sequence[str]] = [("TIME", "EVENT", "LEASE", "USER", "WHAT", "COMMAND")]
    for entry in entries:
        rows.append(
            (
                time_text(entry.time),
                entry.event,
                entry.lease or "-",
                printable(entry.user),
                printable(entry.sentence),
                _shortened(f"{entry.name}: {entry.command}" if entry.name else entry.command),
            )
        )
    return aligned(rows, screen=screen)


def age_text(since: float) -> str:
    """A clock that was set back makes it negative: then it is as good as new."""
    seconds = max(0, int(time.time() - since))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def limit_text(seconds: float) -> str:
    """In the largest unit that keeps it whole: `90s`, `2h`."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"
