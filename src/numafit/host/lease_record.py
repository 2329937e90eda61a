"""Leases as other programs get them, from `numafit ps -o json` and from the agent, and read back from there."""

import calendar
import time
from collections.abc import Mapping
from typing import Any

from numafit.host.book import Place
from numafit.host.lease import Lease, lease_of, memory_of, record_of

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


def waiting_record(one: Place) -> dict[str, Any]:
    return {"user": one.owner.user, "command": one.owner.command, "since": time_text(one.since), "request": one.request}
