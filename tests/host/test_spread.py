"""Where a host puts a job: whole cores, and parts near its devices."""

from collections import Counter
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.bits import mask_of, members, parse_cpuset
from numafit.errors import InputError
from numafit.host.cores import free_cores
from numafit.host.grant import Refused, granted, sentence_of
from numafit.host.host import Host, HostFile, host_of
from numafit.host.lease import Lease
from numafit.host.place import Placed, place
from numafit.host.request import STRICT, JobRequest
from numafit.host.spread import place_job
from numafit.ledger.ledger import Block
from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Device
from tests.host.ledgers import host_named
from tests.host.test_place import GPU, MACHINES, check, lease_of, requests

GIB = 1 << 30
NPU = "example.com/npu"


def on_nodes(host: Host, cpus: int) -> dict[int, int]:
    return dict(sorted(Counter(cpu.numa for cpu in host.machine.cpus if cpus >> cpu.id & 1).items()))


def bytes_on(placed: Placed) -> dict[tuple[int, ...], int]:
    return {block.numa: block.size for block in placed.memory}


def held(cpus: int) -> Lease:
    return Lease("held", "", 0, "", 0.0, exclusive=cpus)


def caches_of(host: Host, cpus: int) -> set[int | None]:
    return {cpu.uncore_cache for cpu in host.machine.cpus if cpus >> cpu.id & 1}


@pytest.mark.parametrize("name", ["epyc-nps1", "epyc-nps4"])
@pytest.mark.parametrize(("ranks", "each"), [(4, 12), (8, 16), (16, 4), (2, 10)])
def test_a_rank_that_fits_an_uncore_cache_lies_in_one(name: str, ranks: int, each: int) -> None:
    """An uncore cache of these machines has eight cores of two threads; a rank of six cores leaves two of them."""
    host = host_named(name)
    placed = place_job(host, (), JobRequest(cpus=ranks * each, ranks=ranks, cpus_per_rank=each))
    assert [len(caches_of(host, parse_cpuset(share.cpus))) for share in placed.shares] == [1] * ranks
    assert placed.exclusive.bit_count() == ranks * each


def test_ranks_lie_on_no_more_numa_nodes_for_the_sake_of_caches() -> None:
    """Ten of six cores fill the 64 of a node all but four: the last two have what the others left, on the same node."""
    host = host_named("epyc-nps1")
    placed = place_job(host, (), JobRequest(cpus=120, ranks=10, cpus_per_rank=12))
    assert on_nodes(host, placed.exclusive) == {0: 120}
    assert [len(caches_of(host, parse_cpuset(share.cpus))) for share in placed.shares] == [1] * 8 + [3, 3]


# Parts near the devices


def test_eight_gpus_on_two_sockets_have_half_of_the_cpus_and_memory_each() -> None:
    host = host_named("gpu8-128cpu")
    placed = place_job(host, (), JobRequest(cpus=16, memory=64 * GIB, devices={GPU: 8}))
    assert on_nodes(host, placed.exclusive) == {0: 8, 1: 8}
    assert bytes_on(placed) == {(0,): 32 * GIB, (1,): 32 * GIB}
    assert (placed.nodes, placed.mems, placed.aligned) == (0b11, 0b11, True)


def test_four_gpus_here_and_one_there_have_cpus_and_memory_in_proportion() -> None:
    """Eight cores are six and two; of 50Gi the fifth GPU has ten."""
    host = host_named("gpu8-128cpu")
    placed = place_job(host, (), JobRequest(cpus=16, memory=50 * GIB, devices={GPU: 5}))
    assert on_nodes(host, placed.exclusive) == {0: 12, 1: 4}
    assert bytes_on(placed) == {(0,): 40 * GIB, (1,): 10 * GIB}


def test_no_device_is_without_a_core_while_there_is_one_for_each_node() -> None:
    """In proportion two cores for five GPUs would both be on the first node."""
    host = host_named("gpu8-128cpu")
    placed = place_job(host, (), JobRequest(cpus=4, devices={GPU: 5}))
    assert on_nodes(host, placed.exclusive) == {0: 2, 1: 2}


def test_as_a_kubelet_all_cpus_are_on_one_node() -> None:
    """--like-kubelet is the engine's answer, good or not."""
    host = host_named("gpu8-128cpu")
    request = JobRequest(cpus=16, devices={GPU: 8}, like_kubelet=True)
    assert place_job(host, (), request) == place(host, (), request)
    assert on_nodes(host, place_job(host, (), request).exclusive) == {0: 16}


def test_what_a_node_lacks_comes_from_the_nearest_and_is_not_called_aligned() -> None:
    host = host_named("gpu8-128cpu")
    other = mask_of(cpu.id for cpu in host.machine.cpus if cpu.numa == 0 and cpu.core not in (0, 1))
    placed = place_job(host, [held(other)], JobRequest(cpus=16, devices={GPU: 8}))
    assert on_nodes(host, placed.exclusive) == {0: 4, 1: 12}
    assert (placed.admitted, placed.aligned) == (True, False)


def test_more_cpus_than_the_node_of_the_gpus_has_are_taken_there_first() -> None:
    host = host_named("gpu8-128cpu")
    placed = place_job(host, (), JobRequest(cpus=80, devices={GPU: 2}))
    assert on_nodes(host, placed.exclusive) == {0: 64, 1: 16}


def test_devices_of_the_host_file_count_like_gpus() -> None:
    """Three of five on the second node."""
    file = HostFile(devices=tuple(Device(NPU, f"npu{number}", (number % 2,)) for number in range(6)))
    host = host_of(machine_named("gpu8-128cpu"), file)
    placed = place_job(host, (), JobRequest(cpus=12, devices={NPU: 6}))
    assert on_nodes(host, placed.exclusive) == {0: 6, 1: 6}


def test_restricted_takes_parts_on_their_own_nodes_and_refuses_others() -> None:
    """What the engine would refuse, since CPUs alone would fit one node, is aligned in parts."""
    host = host_named("gpu8-128cpu")
    request = JobRequest(cpus=16, devices={GPU: 8}, policy="restricted")
    assert not place(host, (), request).admitted
    assert place_job(host, (), request).aligned
    first_node = mask_of(cpu.id for cpu in host.machine.cpus if cpu.numa == 0)
    assert not place_job(host, [held(first_node)], request).admitted


def test_a_strict_policy_takes_no_devices_of_nodes_that_were_not_asked_for() -> None:
    """Neither now nor, where the node has too few, ever; the default takes what there is and says that it is apart."""
    host = host_named("gpu8-128cpu")
    five = JobRequest(devices={GPU: 5}, on_nodes=0b10)
    loose = place_job(host, [], five)
    assert (loose.admitted, loose.aligned) == (True, False)
    for policy in STRICT:
        with pytest.raises(InputError, match="NUMA node 1 has 4"):
            place_job(host, [], replace(five, policy=policy))
        four = place_job(host, [], replace(five, policy=policy, devices={GPU: 4}))
        assert four.devices == {GPU: ("GPU4", "GPU5", "GPU6", "GPU7")}
        other = lease_of(four, "other")
        assert not place_job(host, [other], replace(five, policy=policy, devices={GPU: 1})).admitted


def test_of_two_kinds_of_cores_the_fast_ones_come_first() -> None:
    """A kernel left alone takes these, too; what is left for the last job is said to be slow."""
    host = host_named("hybrid-desktop")
    fast = mask_of(cpu.id for cpu in host.machine.cpus if cpu.kind == "performance")
    first = place_job(host, (), JobRequest(cpus=8))
    assert (first.exclusive & ~fast, first.remarks) == (0, ())
    last = place_job(host, [held(fast)], JobRequest(cpus=4))
    assert (last.exclusive & fast, last.exclusive.bit_count()) == (0, 4)
    assert last.remarks == ("4 of its 4 CPUs are efficiency cores, which are slower",)
    assert place_job(host, (), JobRequest(cpus=8, like_kubelet=True)).exclusive & ~fast


# Links


def test_the_best_linked_pair_is_taken_though_its_node_has_no_cpus() -> None:
    """One GPU of each pair of the first node is held: a pair on one switch is only on the second, which is full."""
    host = host_named("gpu8-128cpu")
    second_node = mask_of(cpu.id for cpu in host.machine.cpus if cpu.numa == 1)
    leases = [replace(held(second_node), devices={GPU: ("GPU0", "GPU2")})]
    placed = place_job(host, leases, JobRequest(cpus=4, devices={GPU: 2}))
    assert placed.devices == {GPU: ("GPU4", "GPU5")}
    assert on_nodes(host, placed.exclusive) == {0: 4}
    assert not placed.aligned


def test_of_sets_that_are_linked_equally_the_one_with_cpus_beside_it_is_taken() -> None:
    host = host_named("gpu8-128cpu")
    first_node = mask_of(cpu.id for cpu in host.machine.cpus if cpu.numa == 0)
    placed = place_job(host, [held(first_node)], JobRequest(cpus=4, devices={GPU: 2}))
    assert placed.devices == {GPU: ("GPU4", "GPU5")}
    assert placed.aligned


# Ranks


@pytest.mark.parametrize("name", ["gpu8-128cpu", "dgx-a100", "gb200"])
def test_each_rank_has_its_cpus_and_memory_on_the_node_of_its_gpu(name: str) -> None:
    host = host_named(name)
    numa = {device.id: device.numa for device in host.machine.devices}
    gpus = sum(1 for device in host.machine.devices if device.resource == GPU)
    placed = place_job(host, (), JobRequest(cpus=4 * gpus, devices={GPU: gpus}, ranks=gpus, cpus_per_rank=4))
    assert [part.devices for part in placed.shares] == [(gpu,) for gpu in placed.devices[GPU]]
    for part in placed.shares:
        (node,) = numa[part.devices[0]] or ()
        assert on_nodes(host, parse_cpuset(part.cpus)) == {node: 4}
        assert part.mems == str(node)
    everything = [cpu for part in placed.shares for cpu in members(parse_cpuset(part.cpus))]
    assert mask_of(everything) == placed.exclusive
    assert len(everything) == 4 * gpus


def test_ranks_without_devices_go_whole_to_few_nodes_evenly() -> None:
    host = host_named("gpu8-128cpu")
    few = place_job(host, (), JobRequest(cpus=24, ranks=6))
    assert on_nodes(host, few.exclusive) == {0: 24}
    many = place_job(host, (), JobRequest(cpus=100, ranks=10))
    assert [len(on_nodes(host, parse_cpuset(part.cpus))) for part in many.shares] == [1] * 10
    assert on_nodes(host, many.exclusive) == {0: 50, 1: 50}


def test_two_gpus_of_a_rank_and_two_ranks_of_a_gpu() -> None:
    host = host_named("gpu8-128cpu")
    two = place_job(host, (), JobRequest(cpus=16, devices={GPU: 8}, ranks=4)).shares
    assert [part.devices for part in two] == [("GPU0", "GPU1"), ("GPU2", "GPU3"), ("GPU4", "GPU5"), ("GPU6", "GPU7")]
    shared = place_job(host, (), JobRequest(cpus=8, devices={GPU: 2}, ranks=4)).shares
    assert [part.devices for part in shared] == [("GPU0",), ("GPU1",), ("GPU0",), ("GPU1",)]


def test_memory_of_ranks_is_held_on_their_nodes() -> None:
    host = host_named("gpu8-128cpu")
    placed = place_job(host, (), JobRequest(cpus=10, memory=5 * GIB, devices={GPU: 5}, ranks=5))
    assert bytes_on(placed) == {(0,): 4 * GIB, (1,): GIB}
    assert [part.mems for part in placed.shares] == ["0", "0", "0", "0", "1"]


def test_an_even_share_of_cores_holds_no_more_than_was_asked_for() -> None:
    """Eight cores for five ranks: two, two, two, one and one. With a number for each, each has it."""
    host = host_named("gpu8-128cpu")
    even = place_job(host, (), JobRequest(cpus=16, ranks=5))
    assert [parse_cpuset(part.cpus).bit_count() for part in even.shares] == [4, 4, 4, 2, 2]
    each = place_job(host, (), JobRequest(cpus=15, ranks=5, cpus_per_rank=3))
    assert [parse_cpuset(part.cpus).bit_count() for part in each.shares] == [4] * 5


def test_ranks_that_cannot_be_served_are_told_in_one_sentence() -> None:
    host = host_named("gpu8-128cpu")
    with pytest.raises(InputError, match="--cpus 2 is less than one for each of 4 ranks"):
        place_job(host, (), JobRequest(cpus=2, ranks=4))
    with pytest.raises(InputError, match="4 devices cannot be divided evenly between 3 ranks"):
        place_job(host, (), JobRequest(cpus=6, devices={GPU: 4}, ranks=3))
    with pytest.raises(InputError, match="whole cores for 100 ranks are 200 CPUs, this machine has 128"):
        place_job(host, (), JobRequest(cpus=100, ranks=100, cpus_per_rank=1))


# Whole cores


def test_two_jobs_of_one_cpu_do_not_share_a_core() -> None:
    """Each holds a core; with --threads they are siblings."""
    host = host_named("laptop")
    first = lease_of(place_job(host, (), JobRequest(cpus=1)), "first")
    second = place_job(host, [first], JobRequest(cpus=1))
    assert (first.exclusive, second.exclusive) == (parse_cpuset("0,4"), parse_cpuset("1,5"))
    single = lease_of(place_job(host, (), JobRequest(cpus=1, threads=True)), "single")
    assert (single.exclusive, place_job(host, [single], JobRequest(cpus=1, threads=True)).exclusive) == (1, 1 << 4)


def test_a_core_that_another_has_a_thread_of_is_not_given() -> None:
    """The refusal says that there are threads, and how to get them."""
    host = host_named("laptop")
    leases = [held(parse_cpuset("0-2"))]
    assert place_job(host, leases, JobRequest(cpus=2)).exclusive == parse_cpuset("3,7")
    refused = granted(host, leases, JobRequest(cpus=3))
    assert isinstance(refused, Refused)
    assert sentence_of(refused) == (
        "3 CPUs in whole cores are asked for and 2 are free; of cores that others use 3 are free, which --threads takes"
    )
    assert place_job(host, leases, JobRequest(cpus=5, threads=True)).exclusive == parse_cpuset("3-7")


def test_a_caller_that_may_use_half_of_a_core_gets_the_half() -> None:
    """What lies outside is nobody's lease: refusing would be worse than no tool."""
    host = host_named("laptop", allowed_cpus=parse_cpuset("0-2,4"))
    assert place_job(host, (), JobRequest(cpus=1)).exclusive == parse_cpuset("0,4")
    assert place_job(host, (), JobRequest(cpus=4)).exclusive == parse_cpuset("0-2,4")
    assert place_job(host, (), JobRequest(cpus=3)).exclusive.bit_count() >= 3


def test_who_spreads_over_cores_wants_single_threads() -> None:
    placed = place_job(host_named("laptop"), (), JobRequest(cpus=3, prefer=("spread-cores",)))
    assert placed.exclusive.bit_count() == 3


def test_cores_of_several_sizes_are_taken_whole_without_rounding() -> None:
    """Two cores of two threads, two of one."""
    machine = machine_named("laptop")
    host = Host(replace(machine, cpus=tuple(cpu for cpu in machine.cpus if cpu.id not in (6, 7))))
    for wanted in range(1, 7):
        placed = place_job(host, (), JobRequest(cpus=wanted))
        cores = free_cores(host, (), JobRequest(cpus=wanted))
        assert placed.exclusive.bit_count() >= wanted
        assert placed.exclusive == cores.whole(placed.exclusive)


# Laws


ranked = st.builds(
    lambda request, ranks, threads, prefer: replace(request, ranks=ranks, threads=threads, prefer=prefer),
    requests,
    st.sampled_from([0, 0, 1, 2, 4]),
    st.booleans(),
    st.sampled_from([(), (), ("uncore-cache",), ("spread-nodes",), ("full-cores",)]),
)


@pytest.mark.parametrize("name", [*MACHINES, "epyc-nps4"])
@pytest.mark.parametrize("narrow", [False, True], ids=["everything", "a part"])
@settings(max_examples=15, deadline=None)
@given(steps=st.lists(st.one_of(ranked, st.integers(0, 20)), max_size=14))
def test_nothing_is_given_twice_in_parts_either(name: str, narrow: bool, steps: list[JobRequest | int]) -> None:
    """Each job has at least what it asked for, its shares are apart and all of its CPUs, and no two jobs without
    --threads meet on a core; also for a caller that may use only some CPUs, with something kept back."""
    host = host_named(name)
    if narrow:
        usable = mask_of(list(members(host.online))[: len(host.machine.cpus) // 2 + 1])
        host = replace(host, reserved_cpus=1, reserved_memory={0: GIB}, allowed_cpus=usable, allowed_mems=1)
    leases: list[Lease] = []
    names = count()
    whole: dict[str, bool] = {}
    for step in steps:
        if isinstance(step, int):
            leases = [lease for number, lease in enumerate(leases) if number != step % max(1, len(leases))]
            continue
        try:
            placed = place_job(host, leases, step)
        except InputError:
            continue
        if not placed.admitted:
            continue
        leases.append(lease_of(placed, str(next(names))))
        whole[leases[-1].id] = not step.threads
        assert placed.exclusive.bit_count() >= step.cpus
        assert sum(block.size for block in placed.memory) == step.memory
        assert {resource: len(ids) for resource, ids in placed.devices.items()} == step.devices
        shares = [cpu for part in placed.shares for cpu in members(parse_cpuset(part.cpus))]
        assert not placed.shares or (sorted(shares) == list(members(placed.exclusive)))
        check(host, leases)
        for core in host.cores:
            assert sum(1 for lease in leases if lease.exclusive & core and whole[lease.id]) < 2


def test_more_cpus_than_one_node_has_follow_the_gpus_too() -> None:
    """As a kubelet it counts as aligned, with 64 CPUs for half of the GPUs and 36 for the other."""
    host = host_named("gpu8-128cpu")
    request = JobRequest(cpus=100, devices={GPU: 8})
    assert on_nodes(host, place(host, (), request).exclusive) == {0: 64, 1: 36}
    assert on_nodes(host, place_job(host, (), request).exclusive) == {0: 50, 1: 50}


def test_memory_in_parts_is_found_where_the_memory_manager_gives_none() -> None:
    """Two jobs hold some of both nodes: a kubelet makes no group of such nodes."""
    file = HostFile(devices=tuple(Device(NPU, f"npu{number}", (number % 2,)) for number in range(6)))
    host = host_of(machine_named("gpu8-128cpu"), file)
    size = host.machine.numa_nodes[0].memory * 3 // 5 // GIB * GIB
    request = JobRequest(cpus=4, memory=size, devices={NPU: 2})
    leases = [lease_of(place_job(host, (), request), "first")]
    leases.append(lease_of(place_job(host, leases, request), "second"))
    assert not place(host, leases, request).admitted
    third = place_job(host, leases, request)
    assert bytes_on(third) == {(0,): size // 2, (1,): size // 2}
    check(host, [*leases, lease_of(third, "third")])


def test_shared_work_on_a_named_node_gets_devices_of_that_node() -> None:
    """It asks for nothing else that would draw it there. Where the node has too few, that does not count as aligned."""
    host = host_named("gpu8-128cpu")
    places = {device.id: device.numa for device in host.machine.devices}
    near = place_job(host, (), JobRequest(devices={GPU: 2}, on_nodes=0b10))
    assert {places[id] for id in near.devices[GPU]} == {(1,)}
    assert (near.nodes, near.aligned) == (0b10, True)
    rest = place_job(host, [lease_of(near, "near")], JobRequest(devices={GPU: 3}, on_nodes=0b10))
    assert (rest.nodes, rest.aligned) == (0b10, False)


def test_a_rank_whose_memory_spilled_keeps_its_own_node_first() -> None:
    """Of 40 GiB for each rank, node 1 has 100 free: two of its four ranks have all there, one a half."""
    host = host_named("gpu8-128cpu")
    gone = Lease("gone", "", 0, "", 0.0, memory=(Block((1,), "memory", 156 * GIB),))
    placed = place_job(host, [gone], JobRequest(cpus=64, ranks=8, devices={GPU: 8}, memory=320 * GIB))
    assert bytes_on(placed) == {(0,): 220 * GIB, (1,): 100 * GIB}
    assert [(share.mems, share.home) for share in placed.shares] == [
        *[("0", 0)] * 4,
        *[("1", 1)] * 2,
        ("1,0", 1),
        ("0", 0),
    ]
