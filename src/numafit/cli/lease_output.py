"""How leases read: as a table for people, as JSON for programs."""

import time
from collections.abc import Mapping, Sequence

import msgspec

from numafit.host.book import Place
from numafit.host.free import Free, NodeFree
from numafit.host.lease import Lease, memory_of
from numafit.host.lease_record import lease_record, time_text, waiting_record
from numafit.host.store import Entry
from numafit.machine.bits import cpuset_text
from numafit.machine.draw.words import printable, size_text

WIDEST_COMMAND = 40
HEADER = ("LEASE", "USER", "NODES", "CPUS", "MEMORY", "DEVICES", "SINCE", "BOUND BY", "COMMAND")
FIRST = 7
"""Columns of the header that stay on the first line where the screen is narrow."""


def leases_json(leases: Sequence[Lease], waiting: Sequence[Place]) -> str:
    value = {"leases": [lease_record(lease) for lease in leases], "waiting": [waiting_record(one) for one in waiting]}
    return msgspec.json.format(msgspec.json.encode(value)).decode()


def leases_text(leases: Sequence[Lease], labels: Mapping[str, str], width: int = 0) -> str:
    """One line per lease; two where the table would be wider than `width`, if that is given."""
    if not leases:
        return "No leases: nobody holds anything."
    rows: list[Sequence[str]] = [HEADER]
    rows += [
        (
            lease.id,
            printable(lease.user),
            cpuset_text(lease.nodes) or "any",
            cpuset_text(lease.exclusive) or f"shared {cpuset_text(lease.bound)}".strip(),
            size_text(memory_of(lease)) if lease.memory else "-",
            devices_text(lease.devices, labels) or "-",
            age_text(lease.since),
            lease.rung or "-",
            _command(lease),
        )
        for lease in leases
    ]
    text = aligned(rows)
    if not width or max(map(len, text.splitlines())) <= width:
        return text
    lines = aligned([row[:FIRST] for row in rows]).splitlines()
    rest = [f"    bound by {row[FIRST]}: {row[FIRST + 1]}"[:width] for row in rows[1:]]
    return "\n".join([lines[0], *(line for pair in zip(lines[1:], rest, strict=True) for line in pair)])


def devices_text(devices: Mapping[str, Sequence[str]], labels: Mapping[str, str]) -> str:
    return ",".join(labels.get(device, device) for ids in devices.values() for device in ids)


def _command(lease: Lease) -> str:
    text = printable(f"{lease.name}: {lease.command}" if lease.name else lease.command) or "-"
    return text if len(text) <= WIDEST_COMMAND else text[: WIDEST_COMMAND - 1] + "…"


def free_text(free: Free, labels: Mapping[str, str]) -> str:
    rows: list[Sequence[str]] = [("NODE", "CPUS FREE", "", "MEMORY FREE", "DEVICES FREE")]
    for node in free.nodes:
        rows.append(
            (
                str(node.id),
                f"{node.cpus.bit_count()} of {node.all_cpus}",
                cpuset_text(node.cpus) or "-",
                f"{size_text(node.memory)} of {size_text(node.all_memory)}" if node.all_memory else "-",
                ",".join(labels.get(device, device) for ids in node.devices.values() for device in ids) or "-",
            )
        )
    if free.unplaced:
        rows.append(("any", "-", "-", "-", devices_text(free.unplaced, labels)))
    lines = [aligned(rows), "", f"Largest aligned job: {_shape(free.largest)}"]
    lines.append(f"Shared pool: CPUs {cpuset_text(free.pool) or '-'}")
    return "\n".join(lines)


def _shape(node: NodeFree | None) -> str:
    if node is None:
        return "none; nothing is free"
    devices = "".join(f" --device {resource}={len(ids)}" for resource, ids in node.devices.items() if ids)
    memory = f" --memory {node.memory >> 20}Mi" if node.memory >> 20 else ""
    cpus = f" --cpus {node.cpus.bit_count()}" if node.cpus else ""
    return f"on node {node.id}:{cpus}{memory}{devices}"


def free_json(free: Free) -> str:
    return msgspec.json.format(msgspec.json.encode(free_record(free))).decode()


def free_record(free: Free) -> dict[str, object]:
    def node_record(node: NodeFree) -> dict[str, object]:
        return {
            "id": node.id,
            "cpus": cpuset_text(node.cpus),
            "cpuCount": node.cpus.bit_count(),
            "allCpus": node.all_cpus,
            "memory": node.memory,
            "allMemory": node.all_memory,
            "devices": node.devices,
        }

    return {
        "nodes": [node_record(node) for node in free.nodes],
        "pool": cpuset_text(free.pool),
        "unplaced": free.unplaced,
        "largest": node_record(free.largest) if free.largest is not None else None,
    }


def history_text(entries: Sequence[Entry]) -> str:
    if not entries:
        return "No history yet."
    rows: list[Sequence[str]] = [("TIME", "EVENT", "LEASE", "USER", "WHAT")]
    for entry in entries:
        rows.append((time_text(entry.time), entry.event, entry.lease or "-", printable(entry.user), _what(entry)))
    return aligned(rows)


def _what(entry: Entry) -> str:
    return printable(str(_data(entry).get("sentence", "")))


def _data(entry: Entry) -> dict[str, object]:
    """Nothing, when it cannot be read: that something happened is still worth a line."""
    try:
        return msgspec.json.decode(entry.data, type=dict[str, object])
    except ValueError:
        return {}


def history_json(entries: Sequence[Entry]) -> str:
    value = [
        {
            "number": entry.number,
            "time": time_text(entry.time),
            "event": entry.event,
            "lease": entry.lease,
            "user": entry.user,
            "data": _data(entry),
        }
        for entry in entries
    ]
    return msgspec.json.format(msgspec.json.encode({"history": value})).decode()


def age_text(since: float) -> str:
    """A clock that was set back makes it negative: then it is as good as new."""
    seconds = max(0, int(time.time() - since))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
