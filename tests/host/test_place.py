"""Where a job goes on machines of the catalogue."""

from collections import Counter
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.bits import mask_of, members, parse_cpuset
from numafit.errors import InputError, KubeletError
from numafit.host.host import Host, HostFile, host_of
from numafit.host.lease import Lease, claims
from numafit.host.place import Placed, place
from numafit.host.request import PREFERENCES, JobRequest
from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Device
from tests.host.ledgers import host_named

GPU = "nvidia.com/gpu"
MACHINES = ("gpu8-128cpu", "dgx-a100", "gb200", "grace-hopper", "laptop")
GIB = 1 << 30


def gpus(number: int, **more: object) -> JobRequest:
    return replace(JobRequest(devices={GPU: number}), **more)


def lease_of(placed: Placed, name: str) -> Lease:
    assert placed.admitted, placed.decision.message
    return Lease(
        name,
        "",
        0,
        "root",
        0.0,
        exclusive=placed.exclusive,
        nodes=placed.nodes,
        mems=placed.mems,
        memory=placed.memory,
        devices=placed.devices,
    )


def take_all(host: Host, requests: list[JobRequest]) -> list[Lease]:
    leases: list[Lease] = []
    for number, request in enumerate(requests):
        leases.append(lease_of(place(host, leases, request), str(number)))
    return leases


def devices_of(lease: Lease) -> list[str]:
    return [device for ids in lease.devices.values() for device in ids]


def nodes_of(host: Host, devices: list[str]) -> set[int]:
    return {node for device in host.machine.devices if device.id in devices for node in device.numa or ()}


# Laws


def held_on(leases: list[Lease]) -> Counter[tuple[int, ...]]:
    held: Counter[tuple[int, ...]] = Counter()
    for lease in leases:
        for block in lease.memory:
            held[block.numa] += block.size
    return held


def check(host: Host, leases: list[Lease]) -> None:
    """No CPU, device or byte twice, nothing that is kept back, and nothing that the caller may not use."""
    held = Counter(claim for lease in leases for claim in claims(lease))
    assert not [claim for claim, times in held.items() if times > 1]
    cpus = mask_of(int(name) for kind, name in held if kind == "cpu")
    assert not cpus & ~host.usable_cpus
    assert not cpus & host.reserved_cpus
    sizes = {node.id: node.memory - host.reserved_memory.get(node.id, 0) for node in host.machine.numa_nodes}
    blocks = held_on(leases)
    for numa in sizes:
        reached = {node for group in blocks if numa in group for node in group} | {numa}
        within = sum(size for group, size in blocks.items() if set(group) <= reached)
        assert within <= sum(sizes[node] for node in reached)
    for lease in leases:
        assert not lease.mems & ~host.memory_nodes


requests = st.builds(
    JobRequest,
    cpus=st.sampled_from([0, 1, 2, 3, 4, 8, 16, 20]),
    memory=st.sampled_from([0, 0, GIB, 3 * GIB, 100 * GIB, 300 * GIB]),
    devices=st.sampled_from([{}, {}, {GPU: 1}, {GPU: 2}, {GPU: 4}]),
    policy=st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"]),
)
steps = st.lists(st.one_of(requests, st.integers(0, 20)), max_size=14)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("narrow", [False, True], ids=["everything", "a part"])
@settings(max_examples=15)
@given(steps=steps)
def test_nothing_is_given_twice_whatever_is_taken_and_released(
    name: str, narrow: bool, steps: list[JobRequest | int]
) -> None:
    """A number releases a lease; also for a caller that may use only some CPUs, with something kept back."""
    host = host_named(name)
    if narrow:
        host = replace(
            host,
            reserved_cpus=1,
            reserved_memory={0: GIB},
            allowed_cpus=mask_of(list(members(host.online))[: len(host.machine.cpus) // 2 + 1]),
            allowed_mems=1,
        )
    leases: list[Lease] = []
    names = count()
    for step in steps:
        if isinstance(step, int):
            leases = [lease for number, lease in enumerate(leases) if number != step % max(1, len(leases))]
            continue
        try:
            placed = place(host, leases, step)
        except InputError:
            # More than this machine has.
            continue
        if placed.admitted:
            leases.append(lease_of(placed, str(next(names))))
            assert placed.exclusive.bit_count() == step.cpus
            assert sum(block.size for block in placed.memory) == step.memory
            assert {resource: len(ids) for resource, ids in placed.devices.items()} == step.devices
        check(host, leases)


@pytest.mark.parametrize("name", MACHINES)
def test_what_was_taken_first_is_given_again_after_all_is_released(name: str) -> None:
    """The same request on an empty ledger gets the same answer: nothing is remembered elsewhere."""
    host = host_named(name)
    wanted = JobRequest(cpus=4, memory=GIB, devices={GPU: 1} if host.machine.devices else {})
    first = lease_of(place(host, (), wanted), "a")
    second = lease_of(place(host, [first], wanted if name != "grace-hopper" else JobRequest(cpus=4)), "b")
    assert not set(claims(first)) & set(claims(second))
    assert lease_of(place(host, [], wanted), "a") == first


# GPUs


def test_a_pair_of_gpus_is_taken_from_one_switch() -> None:
    """Of the four GPUs of a node two and two share a switch: with the first one held, its partner is left alone."""
    host = host_named("gpu8-128cpu")
    first = lease_of(place(host, (), gpus(1)), "one")
    pair = lease_of(place(host, [first], gpus(2)), "pair")
    assert (devices_of(first), devices_of(pair)) == (["GPU0"], ["GPU2", "GPU3"])


def test_a_free_pair_of_another_node_is_better_than_two_halves_of_this_one() -> None:
    """With one GPU of each pair of node 0 held, two GPUs come from one switch of node 1."""
    host = host_named("gpu8-128cpu")
    held = [
        Lease("a", "", 0, "", 0.0, devices={GPU: ("GPU0",)}),
        Lease("b", "", 0, "", 0.0, devices={GPU: ("GPU2",)}),
    ]
    placed = place(host, held, gpus(2, cpus=4))
    assert placed.devices == {GPU: ("GPU4", "GPU5")}
    assert placed.nodes == 0b10
    assert placed.gpu_reason


@pytest.mark.parametrize("name", ["gpu8-128cpu", "dgx-a100"])
def test_two_jobs_of_four_gpus_share_no_node(name: str) -> None:
    """Four and four: each has its own half of the machine."""
    host = host_named(name)
    one, two = take_all(host, [gpus(4, cpus=8), gpus(4, cpus=8)])
    assert len(devices_of(one)) == len(devices_of(two)) == 4
    assert not nodes_of(host, devices_of(one)) & nodes_of(host, devices_of(two))


def test_cpus_and_memory_come_from_the_node_of_the_gpus() -> None:
    host = host_named("dgx-a100")
    placed = place(host, (), gpus(2, cpus=8, memory=16 * GIB, policy="single-numa-node"))
    (node,) = nodes_of(host, list(placed.devices[GPU]))
    assert placed.nodes == placed.mems == 1 << node
    assert [block.numa for block in placed.memory] == [(node,)]


def test_links_do_not_cost_alignment() -> None:
    """The GPUs of node 0 are linked as well as those of node 1, but only node 1 has CPUs left."""
    host = host_named("gpu8-128cpu")
    cpus = mask_of(cpu.id for cpu in host.machine.cpus if cpu.numa == 0)
    placed = place(host, [Lease("a", "", 0, "", 0.0, exclusive=cpus)], gpus(2, cpus=4, policy="single-numa-node"))
    assert placed.admitted
    assert placed.nodes == 0b10
    assert nodes_of(host, list(placed.devices[GPU])) == {1}


# Memory nodes


@pytest.mark.parametrize("name", ["gb200", "grace-hopper"])
def test_the_memory_of_a_gpu_is_never_given_to_programs(name: str) -> None:
    """It shows as a NUMA node of its own; neither is a job's memory bound to it, nor is any of it held."""
    host = host_named(name)
    own = mask_of(node.id for node in host.machine.numa_nodes if node.device)
    for request in (JobRequest(cpus=2), gpus(1), gpus(1, cpus=2, memory=GIB), JobRequest()):
        placed = place(host, (), request)
        assert placed.admitted
        assert placed.mems
        assert not placed.mems & own
    most = sum(node.memory for node in host.machine.numa_nodes if not node.device)
    assert not place(host, (), JobRequest(cpus=1, memory=most, policy="none")).mems & own
    with pytest.raises(InputError, match="of memory are asked for, this machine has"):
        place(host, (), JobRequest(cpus=1, memory=most + 1))


def test_cpus_of_a_node_without_memory_get_that_of_the_nearest_node() -> None:
    """Node 0 has no memory: by the distances node 1 is nearer than node 2."""
    machine = machine_named("epyc-nps4")
    nodes = tuple(replace(node, memory=0) if node.id == 0 else node for node in machine.numa_nodes)
    host = Host(replace(machine, numa_nodes=nodes))
    cpus = mask_of(cpu.id for cpu in machine.cpus if cpu.numa == 0)
    placed = place(replace(host, allowed_cpus=cpus), (), JobRequest(cpus=2))
    assert placed.nodes == 1
    distances = nodes[0].distances
    assert distances is not None
    assert placed.mems.bit_count() == 1
    assert placed.mems & 1 == 0
    (chosen,) = members(placed.mems)
    assert distances[chosen] == min(distances[1:])


# What is kept back


def test_reserved_cpus_and_memory_are_never_held() -> None:
    host = host_named("laptop", reserved_cpus=0b11, reserved_memory={0: GIB})
    size = host.machine.numa_nodes[0].memory
    placed = place(host, (), JobRequest(cpus=6, memory=size - GIB))
    assert placed.exclusive == 0b11111100
    assert not place(host, (), JobRequest(cpus=7)).admitted
    assert not place(host, (), JobRequest(cpus=1, memory=size - GIB + 1)).admitted


def test_a_caller_gets_only_cpus_and_memory_that_it_may_use() -> None:
    """What lies outside counts as held by somebody."""
    host = host_named("gpu8-128cpu", allowed_cpus=parse_cpuset("32-35"), allowed_mems=0b10)
    placed = place(host, (), JobRequest(cpus=2, memory=GIB))
    assert placed.exclusive & ~parse_cpuset("32-35") == 0
    assert placed.mems == 0b10
    assert not place(host, (), JobRequest(cpus=5)).admitted


# Bad requests


def test_an_unknown_device_is_named_with_those_that_are_there() -> None:
    with pytest.raises(InputError, match=r"this machine has no example.com/fpga \(there are nvidia.com/gpu\)"):
        place(host_named("dgx-a100"), (), JobRequest(devices={"example.com/fpga": 1}))


def test_more_than_the_machine_has_is_bad_input() -> None:
    host = host_named("dgx-a100")
    with pytest.raises(InputError, match=r"9 nvidia.com/gpu are asked for, this machine has 8"):
        place(host, (), gpus(9))
    with pytest.raises(InputError, match="257 CPUs are asked for, this machine has 256"):
        place(host, (), JobRequest(cpus=257))


def test_preferences_that_exclude_each_other_are_told_in_our_words() -> None:
    """The kubelet refuses the pair; its option names do not show."""
    with pytest.raises(InputError) as caught:
        place(host_named("laptop"), (), JobRequest(cpus=2, prefer=("full-cores", "spread-cores")))
    assert str(caught.value) == "--prefer: full-cores and spread-cores can not be used at the same time"


def test_a_preference_that_the_policy_forbids_is_told_in_our_words() -> None:
    """Sockets have several NUMA nodes (1.36)."""
    request = JobRequest(cpus=2, prefer=("socket",), policy="single-numa-node")
    with pytest.raises(InputError) as caught:
        place(host_named("laptop"), (), request)
    assert str(caught.value) == (
        "--prefer: Topolgy manager single-numa-node policy is incompatible with CPUManager socket policy option"
    )


def test_a_preference_that_the_release_does_not_know_is_a_mistake_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not of the request: no sentence about `--prefer` would help."""
    monkeypatch.setitem(PREFERENCES, "new", "brand-new")
    with pytest.raises(KubeletError, match='unknown CPU Manager Policy option: "brand-new"'):
        place(host_named("laptop"), (), JobRequest(cpus=2, prefer=("new",)))


@pytest.mark.parametrize("word", PREFERENCES)
def test_each_preference_alone_places_a_job(word: str) -> None:
    placed = place(host_named("dgx-a100"), (), JobRequest(cpus=4, prefer=(word,)))
    assert placed.admitted
    assert placed.exclusive.bit_count() == 4


def test_full_cores_refuses_half_a_core() -> None:
    """A rejection is a decision, not an error."""
    placed = place(host_named("laptop"), (), JobRequest(cpus=1, prefer=("full-cores",)))
    assert not placed.admitted
    assert placed.decision.reason == "SMTAlignmentError"


# A machine that changed


def test_leases_on_cpus_nodes_and_devices_that_are_gone_disturb_nobody() -> None:
    """They name what is no longer there; the rest is placed as if they did not exist."""
    whole = host_named("gpu8-128cpu")
    old = lease_of(place(whole, (), gpus(8, cpus=100, memory=300 * GIB)), "old")
    machine = whole.machine
    left = replace(
        machine,
        cpus=tuple(cpu for cpu in machine.cpus if cpu.numa == 1),
        numa_nodes=tuple(replace(node, distances=(10,)) for node in machine.numa_nodes if node.id == 1),
        devices=tuple(device for device in machine.devices if device.numa == (1,)),
        links=(),
    )
    host = Host(left)
    free = host.online & ~old.exclusive
    assert free
    placed = place(host, [old], JobRequest(cpus=free.bit_count(), memory=GIB))
    assert placed.exclusive == free
    assert not place(host, [old], gpus(1)).admitted


def test_a_cpu_that_is_offline_is_not_given() -> None:
    host = host_named("laptop")
    cpus = tuple(replace(cpu, online=cpu.id != 3) for cpu in host.machine.cpus)
    host = Host(replace(host.machine, cpus=cpus))
    assert place(host, (), JobRequest(cpus=7)).exclusive == 0b11110111
    with pytest.raises(InputError, match="8 CPUs are asked for, this machine has 7"):
        place(host, (), JobRequest(cpus=8))


# host.yaml


def test_devices_of_the_file_take_the_place_of_those_of_the_same_resource() -> None:
    """The links of the machine's own GPUs say nothing about them."""
    file = HostFile(devices=(Device(GPU, "mine0", (1,)), Device("example.com/fpga", "fpga0", (0,))))
    host = host_of(machine_named("gpu8-128cpu"), file)
    placed = place(host, (), JobRequest(cpus=2, devices={GPU: 1}))
    assert placed.devices == {GPU: ("mine0",)}
    assert placed.nodes == 0b10
    both = place(host, (), JobRequest(devices={GPU: 1, "example.com/fpga": 1}))
    assert both.devices == {GPU: ("mine0",), "example.com/fpga": ("fpga0",)}
