"""CPUs that a lease has lost: they went offline, or its container was away while another took them. Which others could
take their place."""

from collections.abc import Sequence

from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.errors import InputError
from numafit.host.grant import Refused, granted
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.request import JobRequest


def offline_cpus(host: Host, lease: Lease) -> int:
    """CPUs of its own that the kernel does not run anything on now."""
    return lease.exclusive & ~host.online


def replacement(host: Host, leases: Sequence[Lease], lease: Lease, lost: int) -> int:
    """The CPUs of the lease with free ones in the place of those lost, on its own NUMA nodes if they have them; 0 when
    too few are free. `leases` are the others."""
    kept = replace(lease, exclusive=lease.exclusive & ~lost)
    request = JobRequest(cpus=lost.bit_count(), threads=True)
    # One that has lost all of its CPUs is not to be taken for shared work, which would keep a CPU for itself.
    held = [*leases, kept] if kept.exclusive else list(leases)
    usable = host.usable_cpus & (lease.allowed or host.usable_cpus)
    for near in (_cpus_of(host, lease.nodes), usable):
        try:
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


def offline_sentences(host: Host, leases: Sequence[Lease]) -> list[str]:
    """One for each lease that holds CPUs which are offline."""
    found = []
    for lease in leases:
        lost = offline_cpus(host, lease)
        if lost:
            which = f"CPU{'s' if lost.bit_count() > 1 else ''} {cpuset_text(lost)}"
            verb = "are" if lost.bit_count() > 1 else "is"
            found.append(f"lease {lease.label}: {which} {verb} offline, and nothing else is free for it")
    return found
