"""Decisions in the words of a recording."""

from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.start import Start, start
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.machine.model import Machine, NumaNode
from numafit.managers.protocol import PluginCall
from numafit.managers.topology.demand import Demand
from numafit.managers.topology.hint import HintFamily
from numafit.replay.outcomes import (
    FileLog,
    as_recorded,
    call_outcome,
    decision_outcome,
    hints_outcome,
    start_outcome,
)
from tests.decision.strategies import GI, GPU, MI, SEED_BOX, box, container, cpus, gpus, pod, running, settings


def test_a_start_says_what_is_reserved_and_allocatable() -> None:
    """Memory per node and type, sorted, without empty tables."""
    machine = box(2, 4, memory=3 * GI, hugepages={2 * MI: 0, GI: 1})
    ordered = settings(cpu="static", memory="Static", reserved_memory={0: {"memory": "2Gi"}})
    record = as_recorded(start_outcome(start(Start(machine=machine, settings=ordered)), {}))
    assert record == {
        "reservedCPUs": "0",
        "allocatableCPUs": "1-3",
        "defaultCPUSet": "0-3",
        "files": {},
        "allocatableMemory": [
            {"numaAffinity": [0], "type": "hugepages-1Gi", "size": GI},
            {"numaAffinity": [1], "type": "hugepages-1Gi", "size": GI},
            {"numaAffinity": [1], "type": "memory", "size": 2 * GI},
        ],
    }


def test_a_start_without_a_memory_manager_does_not_speak_of_memory() -> None:
    """Kubelet 1.20. With policy None the list is there, and null."""
    machine = Machine(box(1, 2).cpus, (NumaNode(0, GI),))
    old = as_recorded(start_outcome(start(Start(machine=machine, settings=settings("1.20"))), {}))
    assert old == {"reservedCPUs": "", "allocatableCPUs": "", "defaultCPUSet": "", "files": {}}
    assert start_outcome(start(Start(machine=machine, settings=settings())), {}).allocatable_memory is None


def test_a_device_file_that_cannot_be_read_is_part_of_the_start() -> None:
    """The kubelet logs it and goes on."""
    known = start(Start(machine=SEED_BOX, settings=settings(), files={DEVICE_FILE: "{"}))
    assert start_outcome(known, {}).device_checkpoint_error == known.device_state[1] != ""


def test_an_admission_is_recorded_whole() -> None:
    """Hints of each manager, the merged one, and what the container got."""
    node, ledger = running(SEED_BOX, settings(cpu="static", topology="restricted"))
    decision = admit(node, ledger, pod("p", cpus("app", "3", {GPU: "1"})))
    assert as_recorded(decision_outcome(decision)) == {
        "uid": "p",
        "admitted": True,
        "merges": [
            {
                "providers": [
                    {GPU: [[1, True], [2, True], [3, False]]},
                    {"cpu": [[1, True], [2, True], [3, False]]},
                    None,
                ],
                "best": [1, True],
                "admit": True,
            }
        ],
        "pluginCalls": [{"kind": "allocate", "resource": GPU, "devices": ["GPU0"]}],
        "containers": {"app": {"affinity": [1, True], "cpus": "1-3", "devices": {GPU: {"GPU0": [0]}}}},
    }


def test_a_rejection_is_recorded_with_reason_and_message() -> None:
    """A container that got nothing has no affinity either."""
    node, ledger = running(SEED_BOX, settings(topology="restricted"))
    record = as_recorded(decision_outcome(admit(node, ledger, pod("p", container("app", {GPU: "4"})))))
    assert (record["admitted"], record["reason"], record["message"], record["containers"]) == (
        False,
        "TopologyAffinityError",
        "Resources cannot be allocated with Topology locality",
        {"app": {"affinity": [None, False]}},
    )


def test_a_crash_is_recorded_without_containers() -> None:
    """The process that could have told is gone."""
    machine = box(2, 4, devices=gpus(0, 1))
    node, ledger = running(machine, settings(topology="restricted"))
    held = admit(node, ledger, pod("p", container("app", {GPU: "1"}))).ledger
    held = replace(held, device=replace(held.device, devices={GPU: {"GPU1": gpus(0, 1)[1]}}))
    record = as_recorded(decision_outcome(admit(node, held, pod("p", container("app", {GPU: "1"})))))
    assert record == {
        "uid": "p",
        "admitted": False,
        "merges": None,
        "reason": "",
        "message": "",
        "panic": "runtime error: invalid memory address or nil pointer dereference",
    }


def test_lists_beyond_all_bounds_are_described() -> None:
    """Nil, impossible, listed, described."""
    family = HintFamily((1 << 20) - 1, (Demand(1, dict.fromkeys(range(20), 1)),))
    found = as_recorded(hints_outcome({"a": None, "b": (), "c": ((1, True), (None, False)), "d": family}))
    assert found == {"a": None, "b": [], "c": [[1, True], [None, False]], "d": {"hints": 2**20 - 1, "nodes": 20}}


def test_a_question_to_a_plugin_is_recorded_with_what_was_offered() -> None:
    """Without what must be in the answer, if nothing must."""
    call = PluginCall("preferred", GPU, ("b",), ("a", "b"), (), 1)
    assert as_recorded(call_outcome(call)) == {
        "kind": "preferred",
        "resource": GPU,
        "devices": ["b"],
        "available": ["a", "b"],
        "size": 1,
    }


def test_a_file_is_reported_when_its_bytes_changed() -> None:
    """Since the last report."""
    node, ledger = running(SEED_BOX, settings(cpu="static"))
    log = FileLog()
    assert set(log.changed(node, ledger)) == {CPU_FILE, MEMORY_FILE, "kubelet_internal_checkpoint"}
    assert log.changed(node, ledger) == {}
    assert set(log.changed(node, admit(node, ledger, pod("p", cpus("app", "3"))).ledger)) == {CPU_FILE}
    assert log.changed(node, admit(node, ledger, pod("q", cpus("app", "500m"))).ledger).keys() == {CPU_FILE}
