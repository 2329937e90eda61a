"""Repaired state files: the kubelet starts with them, and containers keep what they can."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.advice.doctor.repair import CHECKSUM, repair
from numafit.bits import parse_cpuset
from numafit.decision.files import state_files
from numafit.decision.start import Start, start
from numafit.ledger.files.cpu import CpuFile, cpu_bytes, parse_cpu
from numafit.ledger.files.memory import parse_memory
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from tests.advice.stages import BOX, stage, stages
from tests.decision.strategies import GI, container, pod, pods

TRAIN = pod("u1", container("app", {"cpu": "4", "memory": "4Gi", "nvidia.com/gpu": "1"}))
OTHER = pod("u2", container("app", {"cpu": "2", "memory": "1Gi"}))
NODE = stage().node


def spoilt(text: str) -> str:
    """The same contents under a checksum that is not theirs."""
    return re.sub(r'(hecksum":)(\d+)', lambda match: f"{match[1]}{int(match[2]) ^ 5 or 7}", text)


def state() -> dict[str, str]:
    on = stage()
    return state_files(on.node, on.play([TRAIN, OTHER]).after)


def cpu_file(default: str, entries: dict[str, dict[str, str]], policy: str = "static") -> dict[str, str]:
    return {CPU_FILE: cpu_bytes(CpuFile(policy, default, entries), "v2")}


def test_sound_files_are_left_alone() -> None:
    assert repair(NODE, state()) == ()


@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_a_wrong_checksum_alone_gives_back_the_kubelets_own_bytes(data: st.DataObject) -> None:
    """Of all three files, for any pods (1.20 to 1.36). What no kubelet restarts with is not looked at."""
    on = data.draw(stages())
    played = on.play([data.draw(pods(f"uid-{i}")) for i in range(data.draw(st.integers(0, 3)))])
    files = state_files(on.node, played.after)
    if repair(on.node, files):
        return
    made = repair(on.node, {name: spoilt(text) for name, text in files.items()})
    assert {one.name: (one.text, one.changes) for one in made} == {
        name: (text, (CHECKSUM,)) for name, text in files.items() if 'hecksum":0' not in text
    }


@settings(deadline=None, max_examples=80)
@given(
    default=st.sampled_from(["", "0", "0-15", "0,4-15", "x", "0,3-31", "3-15"]),
    entries=st.dictionaries(
        st.sampled_from(["u1", "u2", "u3"]),
        st.dictionaries(st.sampled_from(["app", "init"]), st.sampled_from(["1-2", "2-3", "0-1", "16", "z", "9"])),
    ),
    policy=st.sampled_from(["static", "none", ""]),
    owners=st.sampled_from([None, frozenset({"u1"}), frozenset[str]()]),
)
def test_the_kubelet_starts_with_a_repaired_cpu_file(
    default: str, entries: dict[str, dict[str, str]], policy: str, owners: frozenset[str] | None
) -> None:
    """No CPU belongs to two pods, nobody gets what the file did not give, and a container loses all or nothing."""
    files = cpu_file(default, entries, policy)
    for made in repair(NODE, files, owners):
        started = start(Start(machine=BOX, settings=NODE.settings, files={CPU_FILE: made.text})).ledger.cpu
        kept = {(uid, name, cpus) for uid, own in parse_cpu(made.text).entries.items() for name, cpus in own.items()}
        assert kept <= {(uid, name, cpus) for uid, own in entries.items() for name, cpus in own.items()}
        assert owners is None or {uid for uid, _, _ in kept} <= owners
        masks: dict[str, int] = {}
        for uid, _, cpus in kept:
            masks[uid] = masks.get(uid, 0) | parse_cpuset(cpus)
        assert sum(mask.bit_count() for mask in masks.values()) + started.default.bit_count() == 16


def test_each_container_that_loses_its_cpus_is_told_why() -> None:
    """CPU 0 is reserved, CPU 16 is not there, CPU 2 belongs to u1."""
    entries = {"u1": {"app": "1-2"}, "u2": {"app": "2-3"}, "u3": {"app": "0"}, "u4": {"app": "16"}, "u5": {"app": "4"}}
    (made,) = repair(NODE, cpu_file("5-15", entries), frozenset({"u1", "u2", "u3", "u4"}))
    assert made.changes == (
        'pod u2 container app loses CPUs "2-3": CPUs 2 belong to another pod too',
        'pod u3 container app loses CPUs "0": CPUs 0 are reserved',
        'pod u4 container app loses CPUs "16": CPUs 16 are not online',
        'pod u5 container app loses CPUs "4": there is no such pod',
        'defaultCpuSet is "0,3-15", not "5-15"',
    )
    assert parse_cpu(made.text).entries == {"u1": {"app": "1-2"}}


def test_a_file_of_another_policy_becomes_a_fresh_one() -> None:
    """As if it had been deleted."""
    (made,) = repair(NODE, cpu_file("", {}, policy="none"))
    assert parse_cpu(made.text) == CpuFile("static", "0-15", {})


def test_memory_is_charged_again_where_the_machine_changed() -> None:
    """The entry stays, the state of the NUMA nodes follows from it."""
    nodes = tuple(replace(node, memory=node.memory - 4096) for node in BOX.numa_nodes)
    smaller = stage(replace(BOX, numa_nodes=nodes)).node
    (made,) = repair(smaller, {MEMORY_FILE: state()[MEMORY_FILE]})
    file = parse_memory(made.text)
    assert file.entries == parse_memory(state()[MEMORY_FILE]).entries
    assert file.nodes[0].tables["memory"].total == 16 * GI - 4096


def test_memory_that_no_longer_fits_is_lost() -> None:
    nodes = tuple(replace(node, memory=3 * GI) for node in BOX.numa_nodes)
    (made,) = repair(stage(replace(BOX, numa_nodes=nodes)).node, {MEMORY_FILE: state()[MEMORY_FILE]})
    assert made.changes == ("pod u1 container app loses its memory: NUMA nodes 0 do not have so much memory any more",)
    assert list(parse_memory(made.text).entries) == ["u2"]


def test_devices_of_pods_that_are_gone_are_dropped_from_the_file() -> None:
    """Only when the pods of the node are known."""
    (made,) = repair(NODE, {DEVICE_FILE: state()[DEVICE_FILE]}, frozenset({"u2"}))
    assert made.changes == ("pod u1 loses its nvidia.com/gpu: there is no such pod",)
    assert '"PodDeviceEntries":null' in made.text


def test_what_is_no_json_cannot_be_repaired() -> None:
    made = repair(NODE, dict.fromkeys((CPU_FILE, MEMORY_FILE, DEVICE_FILE), "{"))
    assert [(one.text, one.problem) for one in made] == [
        ("", "cannot be read at all (unexpected end of JSON input): only deleting it helps")
    ] * 3


def test_a_pool_that_is_given_away_whole_is_not_repaired() -> None:
    """With strict-cpu-reservation nothing may be left to share, and then the kubelet does not start (1.32 to 1.36)."""
    strict = stage(cpu_manager_policy_options={"strict-cpu-reservation": "true"}).node
    (made,) = repair(strict, cpu_file("", {"u1": {"app": "1-15"}}))
    assert (made.text, made.problem) == (
        "",
        "no CPU is left to share, and repair takes none from a container: delete it",
    )
