"""CPUs that a lease has lost: they went offline, or its container was away while another took them. Which others could
take their place."""

from collections.abc import Sequence

from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.errors import InputError
from numafit.host.grant import Refused, granted
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.quota import ROOT
from numafit.host.request import JobRequest


def offline_cpus(host: Host, lease: Lease) -> int:
    """CPUs of its own that the kernel does not run anything on now."""
    return lease.exclusive & ~host.online


def replacement(host: Host, leases: Sequence[Lease], lease: Lease, lost: int) -> int:
    """The CPUs of the lease with free ones in the place of those lost, on its own NUMA nodes if they have them; 0 when
    too few are free. One that had whole cores gets whole ones, be they on another node, and threads of cores that
    others use only where there are none. `leases` are the others."""
    kept = replace(lease, exclusive=lease.exclusive & ~lost)
    # One that has lost all of its CPUs is not to be taken for shared work, which would keep a CPU for itself.
    held = [*leases, kept] if kept.exclusive else list(leases)
    usable = host.usable_cpus & (lease.allowed or host.usable_cpus)
    whole = all(core & lease.exclusive in (0, core) for core in host.cores)
    for threads in (False, True) if whole else (True,):
        for near in (_cpus_of(host, lease.nodes), usable):
            try:
                request = JobRequest(cpus=lost.bit_count(), threads=threads)
                placed = granted(replace(host, allowed_cpus=usable & near), held, request)
            except InputError:
                continue
            if not isinstance(placed, Refused):
                return kept.exclusive | placed.exclusive
    return 0


def _cpus_of(host: Host, nodes: int) -> int:
    mask = 0
    for cpu in host.machine.cpus:
        if cpu.numa >= 0 and nodes >> cpu.numa & 1:
            mask |= 1 << cpu.id
    return mask


def nodes_of(host: Host, cpus: int) -> int:
    mask = 0
    for cpu in host.machine.cpus:
        if cpus >> cpu.id & 1 and cpu.numa >= 0:
            mask |= 1 << cpu.numa
    return mask


def offline_sentences(host: Host, leases: Sequence[Lease], uid: int | None = None) -> list[str]:
    """One for each lease that holds CPUs which are offline, and why it was not moved by this user; without one nobody
    tried."""
    found = []
    for lease in leases:
        lost = offline_cpus(host, lease)
        if lost:
            which = f"CPU{'s' if lost.bit_count() > 1 else ''} {cpuset_text(lost)}"
            verb = "are" if lost.bit_count() > 1 else "is"
            why = f", and {_why_not(host, leases, lease, lost, uid)}" if uid is not None else ""
            found.append(f"lease {lease.label}: {which} {verb} offline{why}")
    return found


def _why_not(host: Host, leases: Sequence[Lease], lease: Lease, lost: int, uid: int) -> str:
    if not lease.rung:
        return "numafit bound none of its processes: who took it must take another"
    if uid not in (ROOT, lease.uid):
        return f"only {lease.user} and root can move its job, with `numafit ps`"
    if not replacement(host, [one for one in leases if one.id != lease.id], lease, lost):
        return "nothing else is free for it"
    return "its processes could not be moved"
