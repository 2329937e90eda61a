"""CPUs that a lease has lost, and those that take their place."""

from msgspec.structs import replace

from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.mend import offline_cpus, offline_sentences, replacement
from tests.host.ledgers import host_named, small_host

LEASE = Lease("1234abcd", "", 0, "root", 1.5, exclusive=0b11, nodes=1)


def without(host: Host, *cpus: int) -> Host:
    """With these CPUs offline."""
    changed = tuple(replace(cpu, online=cpu.id not in cpus) for cpu in host.machine.cpus)
    return replace(host, machine=replace(host.machine, cpus=changed))


def test_what_is_offline_is_told_and_replaced() -> None:
    host = without(small_host(), 1)
    assert offline_cpus(host, LEASE) == 0b10
    assert replacement(host, [], LEASE, 0b10) == 0b101
    assert offline_sentences(host, [LEASE]) == [
        "lease 1234abcd: CPU 1 is offline, and nothing else is free for it",
    ]
    assert offline_sentences(small_host(), [LEASE]) == []


def test_a_lease_that_lost_all_gets_others() -> None:
    """Also the last ones: it is no shared work that would keep a CPU for itself."""
    other = replace(LEASE, id="other", exclusive=0b1)
    assert replacement(small_host(2), [other], replace(LEASE, exclusive=0b1), 0b1) == 0b10


def test_what_others_hold_or_the_lease_may_not_use_is_not_taken() -> None:
    other = replace(LEASE, id="other", exclusive=0b1100)
    assert replacement(without(small_host(), 1), [other], LEASE, 0b10) == 0
    assert replacement(without(small_host(), 1), [], replace(LEASE, allowed=0b11), 0b10) == 0


def test_the_nearest_node_is_asked_first() -> None:
    """Another one only when its own has nothing."""
    host = host_named("gpu8-128cpu")
    first = {cpu.id for cpu in host.machine.cpus if cpu.numa == 0}
    near = sum(1 << cpu for cpu in first)
    lease = replace(LEASE, nodes=1)
    found = replacement(without(host, 1), [], lease, 0b10)
    assert (found.bit_count(), found & ~near) == (2, 0)
    rest = replace(LEASE, id="other", exclusive=near & ~0b11)
    found = replacement(without(host, 1), [rest], lease, 0b10)
    assert (found.bit_count(), (found & ~near).bit_count()) == (2, 1)
