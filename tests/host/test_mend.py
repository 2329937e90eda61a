"""CPUs that a lease has lost, and those that take their place."""

from msgspec.structs import replace

from numafit.bits import members
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
    assert offline_sentences(host, [LEASE]) == ["lease 1234abcd: CPU 1 is offline"]
    assert offline_sentences(small_host(), [LEASE]) == []


def test_why_a_job_was_not_moved_is_told_as_it_is() -> None:
    """Bound by nobody, another user's, without a free CPU, or in a way that the kernel refuses."""
    bound = replace(LEASE, rung="cgroup v2", uid=1001, user="ann")
    full = replace(LEASE, id="other", exclusive=0b1100)
    first = "lease 1234abcd: CPU 1 is offline, and"
    for lease, others, uid, why in (
        (LEASE, [], 0, "numafit bound none of its processes: who took it must take another"),
        (bound, [], 1002, "only ann and root can move its job, with `numafit ps`"),
        (bound, [full], 1001, "nothing else is free for it"),
        (bound, [full], 0, "nothing else is free for it"),
        (bound, [], 0, "its processes could not be moved"),
    ):
        assert offline_sentences(without(small_host(), 1), [lease, *others], uid) == [f"{first} {why}"]


def test_cpus_that_are_listed_nowhere_any_more_are_missed() -> None:
    assert offline_sentences(small_host(1), [LEASE]) == ["lease 1234abcd: CPU 1 is offline"]


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


def test_a_job_that_had_whole_cores_gets_whole_cores() -> None:
    """CPUs 0 and 64 are the first core, 1 and 65 the second. A thread beside another job comes last, also before those
    of another NUMA node."""
    host = without(host_named("gpu8-128cpu"), 1, 65)
    node = sum(1 << cpu.id for cpu in host.machine.cpus if cpu.numa == 0)
    core = 1 << 1 | 1 << 65
    lease = replace(LEASE, exclusive=1 | 1 << 64 | core)
    half = replace(LEASE, id="half", exclusive=1 << 2)
    assert replacement(host, [half], lease, core) == 1 | 1 << 64 | 1 << 3 | 1 << 67
    # One thread of each core is left on node 0.
    halves = replace(LEASE, id="halves", exclusive=node & ((1 << 64) - 1) & ~0b11)
    found = replacement(host, [halves], lease, core) & ~lease.exclusive
    assert (found & node, {cpu & 63 for cpu in members(found)}, found.bit_count()) == (0, {32}, 2)
    others = replace(LEASE, id="others", exclusive=host.online & ~(lease.exclusive | 1 << 66 | 1 << 67))
    assert replacement(host, [others], lease, core) == 1 | 1 << 64 | 1 << 66 | 1 << 67
    single = replace(LEASE, exclusive=0b10)
    assert replacement(host, [half], single, 0b10).bit_count() == 1
