"""Recordings made here: a simulation written as a case, which a replay reproduces."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.decision.simulation import Simulation, play
from numafit.decision.start import Start, start
from numafit.machine.model import Link
from numafit.quantity import parse_quantity
from numafit.replay.inputs import machine_from_recording
from numafit.replay.replay import replay
from numafit.replay.simulated import case_of, machine_record, pod_record, unlike
from tests.decision.strategies import GI, GPU, MI, box, container, gpus, nodes, pod, pods, running
from tests.decision.strategies import settings as ordered
from tests.replay.pods import pod_from_recording

ALLOCATABLE = {"cpu": parse_quantity("4"), "memory": parse_quantity("64Gi")}


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_recorded_simulation_replays(data: st.DataObject) -> None:
    """Any machine, settings and pods; what the recording decides is what was simulated."""
    order = data.draw(nodes())
    node, ledger = running(order.machine, order.settings, order.plugins)
    wanted = [data.draw(pods(f"uid-{i}")) for i in range(data.draw(st.integers(0, 4)))]
    simulation = play(node, ledger, wanted, {})
    case = case_of(simulation)
    assert (replay(case).verdict, unlike(case, simulation)) == ("match", ())


@settings(deadline=None, max_examples=60)
@given(wanted=pods("u"))
def test_a_pod_comes_back_as_it_was_written(wanted: object) -> None:
    assert pod_from_recording(pod_record(wanted)) == wanted


def test_a_machine_comes_back_with_its_online_cpus() -> None:
    """What the kubelet does not see is not recorded."""
    machine = box(2, 4, 2, memory=GI, hugepages={2 * MI: 3, GI: 1, 64 << 10: 2})
    off = replace(machine, cpus=tuple(replace(cpu, online=cpu.id != 3) for cpu in machine.cpus))
    expected = replace(machine, cpus=tuple(cpu for cpu in machine.cpus if cpu.id != 3))
    assert machine_from_recording(machine_record(off)) == expected


def test_a_pod_that_the_node_turns_away_comes_and_goes() -> None:
    """The check behind the managers is not part of recordings."""
    node, ledger = running(box(1, 8, memory=GI), ordered(cpu="static"))
    wide = pod("u1", container("app", requests={"cpu": "5"}))
    small = pod("u2", container("app", requests={"cpu": "4"}))
    simulation = play(node, ledger, [wide, small], ALLOCATABLE)
    assert [step.decision.reason for step in simulation.steps] == ["OutOfcpu", ""]
    case = case_of(simulation)
    assert [step["op"] for step in case["input"]["steps"]] == ["add", "remove", "add"]
    assert (replay(case).verdict, unlike(case, simulation)) == ("match", ())


def near_gpus(*near: tuple[str, str]) -> Simulation:
    """Four GPUs with NVIDIA's plugin, which takes those with links to each other; one pod asks for two."""
    links = tuple(Link(a, b, "NV4") for a, b in near)
    machine = replace(box(1, 4, memory=8 * GI, devices=gpus(0, 0, 0, 0)), links=links)
    known = start(Start(machine=machine, settings=ordered(topology="best-effort")))
    return play(known.node, known.ledger, [pod("u1", container("app", {"cpu": "1", "memory": "1Gi", GPU: "2"}))], {})


def test_a_plugin_that_recordings_do_not_know_is_stood_in_for_by_one_that_decides_alike() -> None:
    """GPU2 and GPU3 are the last ones."""
    case = case_of(near_gpus(("GPU2", "GPU3")))
    assert case["input"]["plugins"] == [{"resource": GPU, "preferredAllocation": "last", "response": "nvidia"}]
    assert replay(case).verdict == "match"


def test_where_no_stand_in_decides_alike_the_pods_are_named() -> None:
    simulation = near_gpus(("GPU0", "GPU2"))
    case = case_of(simulation)
    assert (replay(case).verdict, unlike(case, simulation)) == ("match", ("default/pod-u1",))
