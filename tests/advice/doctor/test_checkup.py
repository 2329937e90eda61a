"""Would the kubelet start, and does its state make sense: each finding, and the order in which errors come."""

import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.advice.doctor.checkup import Checkup, examine, start_errors
from numafit.advice.doctor.remedy import fresh_start, remedy_of
from numafit.advice.inspection.inspection import inspected
from numafit.advice.inspection.text import KubeletText
from numafit.decision.files import state_files
from numafit.decision.start import Start, start
from numafit.errors import KubeletError
from numafit.ledger.files.cpu import CpuFile, cpu_bytes
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.machine.model import Machine
from numafit.quantity import parse_quantity
from numafit.replay.inputs import machine_from_recording, settings_from_recording
from numafit.settings.settings import ReservedMemory
from numafit.settings.versions import KubeVersion, parse_version
from tests.advice.stages import ALL_ON, BOX, stage
from tests.decision.strategies import GI, box, container, cpus, gpus, pod

ORACLE = Path(__file__).resolve().parents[3].parent / "shared" / "oracle"
V136 = parse_version("1.36")

TRAIN = pod("u1", container("app", {"cpu": "4", "memory": "4Gi", "nvidia.com/gpu": "1"}))


def files_with(*pods: object, machine: Machine = BOX, version: str = "1.36", **changes: object) -> dict[str, str]:
    """The state files of a node on which these pods run."""
    on = stage(machine, version, **changes)
    return state_files(on.node, on.play(pods).after)


def examined(
    files: dict[str, str] | None = None, machine: Machine = BOX, version: KubeVersion = V136, **changes: object
) -> Checkup:
    return examine(known(files or {}, machine, version, **changes))


def known(files: dict[str, str], machine: Machine = BOX, version: KubeVersion = V136, **changes: object) -> Start:
    return Start(version=version, config=replace(ALL_ON, **changes), machine=machine, files=files)


def codes(checkup: Checkup) -> list[str]:
    return [finding.code for finding in checkup.findings]


def test_a_node_with_its_own_state_is_healthy() -> None:
    """What the kubelet wrote it takes again (1.20 to 1.36)."""
    checkup = examine(known(files_with(TRAIN)), owners={"u1"}, pods=[TRAIN])
    assert (checkup.findings, checkup.unchecked, checkup.starts) == ((), (), True)


def test_errors_come_in_the_kubelets_order_and_warnings_after_them() -> None:
    """CPU manager, memory manager, then their files; a file whose manager cannot be made is not looked at.

    `Static` is meant as static, so the file of the CPU manager is.
    """
    checkup = examined(
        files_with(TRAIN), cpu_manager_policy="Static", reserved_memory=(), topology_manager_policy_options={"a": "b"}
    )
    assert [(finding.stage, finding.text) for finding in checkup.findings] == [
        ("topologymanager.NewManager", 'unknown Topology Manager Policy option: "a"'),
        ("cpumanager.NewManager", 'unknown policy: "Static"'),
        (
            "memorymanager.NewManager",
            'the total amount "0" of type "memory" is not equal to the value "512Mi" determined by Node Allocatable '
            "feature",
        ),
    ]
    assert [(each.check, each.because) for each in checkup.unchecked] == [
        ("memory-state", ("the sum of reservedMemory",)),
        ("state-sense", ("a kubelet that starts",)),
    ]


def test_another_policy_than_that_of_the_file_needs_a_fresh_start() -> None:
    """Drain, stop, delete this file and no other, start, uncordon (1.20 to 1.36)."""
    checkup = examined(files_with(TRAIN), cpu_manager_policy="none")
    found = checkup.findings[0]
    assert (codes(checkup), checkup.starts) == (["cpu-state-refused"], False)
    assert 'configured policy "none" differs from state checkpoint policy "static"' in found.text
    assert found.details == ("1 container holds exclusive CPUs in it",)
    assert found.cure == (
        "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data",
        "systemctl stop kubelet",
        "rm /var/lib/kubelet/cpu_manager_state",
        "systemctl start kubelet",
        "kubectl uncordon NODE",
    )


def test_cpus_that_came_and_went_are_named() -> None:
    """The kubelet prints two lists; the doctor says what is in one of them only."""
    smaller = replace(BOX, cpus=tuple(replace(cpu, online=cpu.id != 7) for cpu in BOX.cpus))
    checkup = examined(files_with(TRAIN), machine=smaller)
    assert checkup.findings[0].text == (
        'current set of available CPUs "0-6,8-15" doesn\'t match with CPUs in state "0-15"'
    )
    assert "CPUs 7 are in the file, but not online" in checkup.findings[0].details
    back = examined(files_with(machine=smaller), machine=BOX)
    assert "CPUs 7 are online, but not in the file" in back.findings[0].details


def test_memory_that_changed_is_named_with_the_difference() -> None:
    """A few bytes are enough: the kubelet compares the total of each NUMA node (1.21 to 1.36)."""
    nodes = tuple(replace(node, memory=node.memory - 4096 * (node.id == 1)) for node in BOX.numa_nodes)
    checkup = examined(files_with(TRAIN), machine=replace(BOX, numa_nodes=nodes))
    assert codes(checkup) == ["memory-state-refused"]
    assert checkup.findings[0].details[1] == (
        f"NUMA node 1 memory total: {16 * GI} in the file, {16 * GI - 4096} now (-4096 bytes)"
    )


def test_a_broken_device_file_is_a_warning_even_beside_errors() -> None:
    """The kubelet only logs it, and forgets who holds which device."""
    files = files_with(TRAIN)
    files[DEVICE_FILE] = files[DEVICE_FILE].replace("GPU1", "GPU2")
    assert codes(examined(files)) == ["device-state-ignored"]
    assert codes(examined(files, cpu_manager_policy="none")) == ["cpu-state-refused", "device-state-ignored"]


def test_a_reservation_above_the_capacity_is_met_last() -> None:
    """After the managers have started (1.20 to 1.36)."""
    checkup = examined(
        kube_reserved={"cpu": "1", "memory": "412Mi", "ephemeral-storage": "1Gi"}, cpu_manager_policy="none"
    )
    assert checkup.findings == ()
    tiny = box(1, 2, 1, memory=GI // 2)
    found = examined(
        machine=tiny, memory_manager_policy="None", reserved_memory=(), kube_reserved={"cpu": "1", "memory": "1Gi"}
    )
    assert codes(found) == ["capacity-exceeded"]


def test_more_memory_reserved_than_a_node_has_is_a_warning() -> None:
    """The kubelet subtracts unsigned numbers, and the node looks endless (1.21 to 1.36)."""
    small = replace(BOX, numa_nodes=(replace(BOX.numa_nodes[0], memory=GI // 4), BOX.numa_nodes[1]))
    assert codes(examined(machine=small)) == ["reservation-wraps"]


def test_settings_without_effect_are_warnings() -> None:
    found = examined(
        memory_manager_policy="None",
        topology_manager_policy="none",
        topology_manager_policy_options={"prefer-closest-numa-nodes": "true"},
    )
    assert codes(found) == ["no-effect", "no-effect"]


def test_reserved_cpus_that_split_cores_are_a_warning_only_with_full_cores() -> None:
    """CPU 8 is the sibling of CPU 0 (1.27 and later)."""
    split = {"cpu_manager_policy_options": {"full-pcpus-only": "true"}, "reserved_system_cpus": "0"}
    found = examined(**split)
    assert codes(found) == ["cores-split"]
    assert found.findings[0].cure == ("reserve whole cores, such as reservedSystemCPUs: 0,8",)
    assert examined(**{**split, "reserved_system_cpus": "0,8"}).findings == ()
    assert examined(reserved_system_cpus="0").findings == ()


def test_a_machine_that_is_reserved_whole_leaves_nothing() -> None:
    assert codes(examined(reserved_system_cpus="0-15")) == ["nothing-left"]


def test_cpus_of_two_pods_are_found_though_the_kubelet_does_not_look() -> None:
    """It checks entries against the shared pool only, not against each other."""
    entries = {"u1": {"app": "1-2", "init": "1"}, "u2": {"app": "2-3"}}
    files = {CPU_FILE: cpu_bytes(CpuFile("static", "0,4-15", entries), "v2")}
    found = examined(files)
    assert [(finding.code, finding.text) for finding in found.findings] == [
        ("held-twice", "CPUs 2 are exclusive to pod u1 and to pod u2")
    ]


def test_a_device_that_is_gone_is_named_with_its_holder() -> None:
    files = files_with(TRAIN)
    found = examined(files, machine=replace(BOX, devices=gpus(0, 1)[1:]))
    assert [(finding.code, finding.text) for finding in found.findings] == [
        ("device-gone", "pod u1 container app holds GPU0 (nvidia.com/gpu), which is not there")
    ]


def test_an_entry_without_a_pod_is_found_only_when_the_pods_are_known() -> None:
    files = files_with(TRAIN)
    assert examine(known(files)).findings == ()
    found = examine(known(files), owners={"u2"})
    assert [(finding.code, finding.place, finding.text) for finding in found.findings] == [
        ("no-owner", "cpu_manager_state, kubelet_internal_checkpoint, memory_manager_state", "no pod has the UID u1")
    ]


def test_a_pod_that_the_next_start_rejects_is_named() -> None:
    """full-pcpus-only counts free cores before it sees that the pod has its CPUs (1.27 to 1.36)."""
    wide = pod("u1", cpus("app", "14"))
    options = {
        "cpu_manager_policy_options": {"full-pcpus-only": "true"},
        "topology_manager_policy": "best-effort",
        "reserved_system_cpus": "0,8",
    }
    files = files_with(wide, version="1.36", **options)
    found = examine(known(files, **options), owners={"u1"}, pods=[wide])
    assert codes(found) == ["rejected-at-start"]
    assert "SMTAlignmentError" in found.findings[0].details[0]


def test_without_its_plugin_a_pod_may_be_rejected() -> None:
    """1.27.3 does not know which containers run, so it wants the device plugin back first."""
    files = files_with(TRAIN, version="1.27.3")
    found = examine(known(files, version=parse_version("1.27.3")), owners={"u1"}, pods=[TRAIN])
    assert [finding.text for finding in found.findings] == [
        "default/pod-u1 runs, and may be rejected when the kubelet starts, as long as its device plugin is not back"
    ]


CHANGES = (
    {},
    {"cpu_manager_policy": "none"},
    {"cpu_manager_policy": "Static"},
    {"memory_manager_policy": "None"},
    {"kube_reserved": {"cpu": "3", "memory": "412Mi"}},
    {"kube_reserved": {"cpu": "1", "memory": "413Mi"}},
    {"kube_reserved": {"cpu": "99", "memory": "412Mi"}},
    {"kube_reserved": {"cpu": "x"}},
    {"topology_manager_policy": "none", "topology_manager_policy_options": {"a": "b"}},
    {"topology_manager_policy_options": {"a": "b"}},
    {"reserved_memory": (ReservedMemory(1, {"memory": parse_quantity("512Mi")}),)},
    {"reserved_system_cpus": "1"},
    {"cpu_manager_policy_options": {"strict-cpu-reservation": "true"}},
)


@settings(deadline=None, max_examples=60)
@given(
    first=st.sampled_from(CHANGES),
    second=st.sampled_from(CHANGES),
    version=st.sampled_from(["1.20.1", "1.27.3", "1.34.11", "1.36.4"]),
    broken=st.sets(st.sampled_from([CPU_FILE, MEMORY_FILE])),
)
def test_the_first_error_is_what_the_kubelet_says(
    first: dict[str, object], second: dict[str, object], version: str, broken: set[str]
) -> None:
    """Made and started as a whole, the kubelet fails with it, or starts where there is none."""
    config = replace(ALL_ON, **{**first, **second})
    parsed = parse_version(version)
    files = files_with(TRAIN, version=version)
    files |= {name: re.sub('checksum":', 'checksum":9', files[name]) for name in broken & files.keys()}
    given = Start(version=parsed, config=config, machine=BOX, files=files)
    said = None
    try:
        start(given)
    except KubeletError as error:
        said = str(error)
    checkup = examine(given)
    assert (checkup.findings[0].text if not checkup.starts else None) == said


def test_every_recorded_start_is_foretold_and_explained() -> None:
    """All start-up cases of the recordings; texts of Go's JSON decoder differ between its releases."""
    cases = []
    for version in ("v1.27.3", "v1.36.4"):
        path = ORACLE / version / "validation.jsonl.gz"
        if not path.exists():
            pytest.skip("the recordings are not there")
        with gzip.open(path, "rt") as lines:
            cases += [json.loads(line) for line in lines]
    starts = [case for case in cases if "start" in case["expect"]]
    for case in starts:
        content = case["input"]
        ordered = settings_from_recording(content.get("config") or {}, parse_version(case["kubeVersion"]))
        machine = machine_from_recording(content["machine"])
        files = content.get("initialFiles") or {}
        errors = start_errors(
            inspected(Start(machine=machine, settings=ordered, files=files)), KubeletText(None, None), ""
        )
        said = case["expect"]["start"].get("error")
        assert bool(errors) == bool(said), case["id"]
        if said:
            exact = not re.search("json: |invalid character|unexpected end", said["message"])
            assert (errors[0].stage, errors[0].text if exact else "") == (
                said["stage"],
                said["message"] if exact else "",
            )
            assert all((errors[0].why, errors[0].cure, errors[0].cost)), errors[0]
    assert len(starts) > 100


def test_an_error_that_nobody_foresaw_still_has_a_way_out() -> None:
    remedy = remedy_of(KubeletError("no"), "somewhere.New", "/var/lib/kubelet")
    assert remedy.cure == ("correct the configuration", "systemctl restart kubelet")


def test_the_way_out_is_the_cure_that_lint_shows_where_there_is_no_other() -> None:
    remedy = remedy_of(KubeletError("no", code="topology-scope"), "somewhere.New", "/var/lib/kubelet")
    assert remedy.cure[0] == "write container or pod"


def test_a_fresh_start_names_the_files_in_the_kubelets_folder() -> None:
    assert fresh_start("/data/kubelet/", (CPU_FILE, MEMORY_FILE))[2] == (
        "rm /data/kubelet/cpu_manager_state /data/kubelet/memory_manager_state"
    )
