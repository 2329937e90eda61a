"""Leases, the queue, the history and what is free, as other programs get them, and leases read back from there."""

import calendar
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from numafit.bits import cpuset_text
from numafit.host.book.tables import LeaseEvent
from numafit.host.free import HostFree, NodeFree
from numafit.host.grant import QueuePlace
from numafit.host.lease import Lease, lease_of, memory_of, record_of
from numafit.show.json import json_text

_FORM = "%Y-%m-%dT%H:%M:%SZ"
_NOT_SHOWN = ("allowed", "boot")
_DERIVED = ("shared", "memoryBytes")


def time_text(seconds: float) -> str:
    """RFC 3339, to the second."""
    return time.strftime(_FORM, time.gmtime(seconds))


def seconds_of(text: str) -> float:
    """Raises `ValueError` for what is no such time."""
    return float(calendar.timegm(time.strptime(text, _FORM)))


def lease_record(lease: Lease) -> dict[str, Any]:
    """Sets are lists of ids."""
    record = {name: value for name, value in record_of(lease).items() if name not in _NOT_SHOWN}
    return {**record, "since": time_text(lease.since), "shared": lease.pooled, "memoryBytes": memory_of(lease)}


def lease_of_record(record: Mapping[str, Any]) -> Lease:
    """Raises `ValueError` for what is no lease."""
    fields = {name: value for name, value in record.items() if name not in _DERIVED}
    return lease_of({**fields, "since": seconds_of(str(fields.get("since", "")))})


def waiting_record(one: QueuePlace) -> dict[str, Any]:
    return {"user": one.owner.user, "command": one.owner.command, "since": time_text(one.since), "request": one.request}


def leases_json(leases: Sequence[Lease], waiting: Sequence[QueuePlace]) -> str:
    value = {"leases": [lease_record(lease) for lease in leases], "waiting": [waiting_record(one) for one in waiting]}
    return json_text(value)


def free_json(free: HostFree) -> str:
    return json_text(free_record(free))


def free_record(free: HostFree) -> dict[str, object]:
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


def history_data(entry: LeaseEvent) -> dict[str, object]:
    """Nothing, when it cannot be read: that something happened is still worth a line."""
    try:
        return msgspec.json.decode(entry.data, type=dict[str, object])
    except ValueError:
        return {}


def history_json(entries: Sequence[LeaseEvent]) -> str:
    value = [
        {
            "number": entry.number,
            "time": time_text(entry.time),
            "event": entry.event,
            "lease": entry.lease,
            "user": entry.user,
            "data": history_data(entry),
        }
        for entry in entries
    ]
    return json_text({"history": value})


class LeaseList(msgspec.Struct, frozen=True, rename="camel"):
    """As `numafit ps -o json` shows them, and what the administrator keeps back."""

    leases: tuple[dict[str, Any], ...]
    waiting: tuple[dict[str, Any], ...] = ()
    reserved_cpus: str = ""
    reserved_memory: dict[str, int] = {}
    """NUMA node -> bytes."""
