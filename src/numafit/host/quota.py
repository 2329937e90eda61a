"""Quotas: how much a user, or a group together, holds already, and whether a job would be too much.

They keep people who mean well apart. Whoever may write the ledger could write anything into it; what stops a program
is its cgroup.
"""

import grp
import os
import pwd
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from numafit.errors import InputError
from numafit.host.host import Quota, Quotas
from numafit.host.lease import Lease, memory_of
from numafit.host.request import JobRequest
from numafit.quantity import Quantity

EVERYBODY = "*"
ROOT = 0


def quota_of(quotas: Quotas, user: str) -> Quota:
    everybody, own = quotas.users.get(EVERYBODY, Quota()), quotas.users.get(user, Quota())
    told = {name: value for name in Quota.__struct_fields__ if (value := getattr(own, name)) is not None}
    return replace(everybody, **{**told, "devices": {**everybody.devices, **own.devices}})


def group_of(quotas: Quotas, uid: int) -> str:
    """The first group with a quota that the user belongs to; empty: none."""
    if not quotas.groups or uid == ROOT:
        return ""
    try:
        entry = pwd.getpwuid(uid)
        numbers = set(os.getgrouplist(entry.pw_name, entry.pw_gid))
    except KeyError:
        return ""
    for name in quotas.groups:
        try:
            if grp.getgrnam(name).gr_gid in numbers:
                return name
        except KeyError:
            continue
    return ""


def within_bounds(quotas: Quotas, request: JobRequest, uid: int, user: str) -> JobRequest:
    """The request with the time that it has at most. Raises `InputError` where it asks for more time or a higher
    priority than its user may."""
    if uid == ROOT:
        return request
    quota = quota_of(quotas, user)
    highest = quota.priority or 0
    if request.priority > highest:
        raise InputError(f"{user} may ask for {highest} at most", source="--priority", cure="root may ask for more")
    if quota.seconds is None:
        return request
    if request.seconds > quota.seconds:
        raise InputError(f"a job of {user} may run for {quota.seconds:g} s at most", source="--time")
    return replace(request, seconds=request.seconds or quota.seconds)


def over_quota(quotas: Quotas, leases: Sequence[Lease], request: JobRequest, uid: int, user: str) -> str:
    """What would be too much, as a sentence; empty: nothing. Root has no quota."""
    if uid == ROOT or not (quotas.users or quotas.groups):
        return ""
    own = [lease for lease in leases if lease.uid == uid]
    why = _too_much(quota_of(quotas, user), own, request, f"{user} may hold", "holds")
    group = group_of(quotas, uid) if not why else ""
    if group:
        together = [lease for lease in leases if lease.group == group]
        why = _too_much(quotas.groups[group], together, request, f"the group {group} may hold", "its members hold")
    return why


def _too_much(quota: Quota, leases: Sequence[Lease], request: JobRequest, who: str, hold: str) -> str:
    for most, held, wanted, words in _counts(quota, leases, request):
        if wanted and held + wanted > most:
            now = f"{hold} {_text(held, words)}" if held else f"{hold} none"
            return f"{who} {_text(most, words)} by quota, {now} now, and {_text(wanted, words)} would be too much"
    return ""


def _counts(quota: Quota, leases: Sequence[Lease], request: JobRequest) -> Iterator[tuple[int, int, int, str]]:
    """(at most, held, wanted, of what)."""
    if quota.cpus is not None:
        yield quota.cpus, sum(lease.exclusive.bit_count() for lease in leases), request.cpus, "CPUs"
    if quota.memory is not None:
        yield quota.memory, sum(memory_of(lease) for lease in leases), request.memory, "memory"
    if quota.jobs is not None:
        yield quota.jobs, len(leases), 1, "jobs"
    for resource, most in sorted(quota.devices.items()):
        held = sum(len(lease.devices.get(resource, ())) for lease in leases)
        yield most, held, request.devices.get(resource, 0), resource


def _text(count: int, words: str) -> str:
    if words == "memory":
        return f"{Quantity(count, 0, 'BinarySI')} of memory"
    return f"{count} {words[:-1] if count == 1 and words.endswith('s') else words}"
