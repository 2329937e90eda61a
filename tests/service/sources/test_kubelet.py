"""A kubelet's state files as a source."""

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.bits import cpuset_text, parse_cpuset
from numafit.cli.options.machine import resolve_machine
from numafit.decision.files import state_files
from numafit.decision.simulation import play
from numafit.decision.stage import Stage
from numafit.errors import InputError
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, STATE_FILES, state_path
from numafit.machine.catalogue.names import machine_named
from numafit.service.node import Snapshot
from numafit.service.sources import kubelet
from numafit.service.sources.kubelet import KubeletNode
from numafit.settings.example import example_kubelet
from numafit.workload.reading import read_pods
from tests.service.agents import POD, ROOT
from tests.service.sources.changes import changes_of

SHARED = ROOT.parent / "shared"
RUNS = sorted(path.parent for path in (SHARED / "kubelet-runs").glob(f"*/{CPU_FILE}"))
MACHINE = machine_named("gpu8-128cpu")
KUBELET = example_kubelet(MACHINE)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubelet, "SECONDS", 0.01)


def node(folder: Path) -> KubeletNode:
    return KubeletNode(folder, MACHINE, KUBELET, "v1.36.4", folder / "pod-logs")


def write_state(folder: Path, stage: Stage) -> None:
    """As the kubelet lays its files."""
    for name, text in state_files(stage.node, stage.ledger).items():
        path = folder / "device-plugins" / name if name == DEVICE_FILE else folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def with_pods(stage: Stage, *names: str) -> Stage:
    pods = [read_pods(POD.replace("asked", name)).pods[0] for name in names]
    return replace(stage, ledger=play(stage.node, stage.ledger, pods, stage.allocatable).after)


def test_what_stands_in_the_files_is_shown(tmp_path: Path) -> None:
    """CPUs, memory and devices of each pod, as in the ledger that was written."""
    source = node(tmp_path)
    stage = with_pods(source.idle, "one", "two")
    write_state(tmp_path, stage)
    (change,) = changes_of(source)
    found = Snapshot(source.place, change.stage, change.known).view()
    expected = Snapshot(source.place, stage).view()
    assert [(one.id, one.cpus, one.memory, one.devices) for one in sorted(found.holders, key=lambda one: one.id)] == [
        (one.id, one.cpus, one.memory, one.devices) for one in sorted(expected.holders, key=lambda one: one.id)
    ]
    assert found.nodes == expected.nodes


def test_pods_that_come_and_go_are_told(tmp_path: Path) -> None:
    """By what changed in the files; the kubelet's reasons are not in them."""
    source = node(tmp_path)
    empty = source.idle
    stage = with_pods(empty, "one")
    changes = changes_of(source, lambda: write_state(tmp_path, stage), lambda: write_state(tmp_path, empty))
    happened = [change.happened for change in changes]
    assert happened[0] is None
    assert happened[1]
    assert happened[2]
    assert [one.kind for one in (happened[1], happened[2])] == ["pod", "release"]
    assert "CPUs 1-4,65-68" in happened[1].sentence
    assert "GPU0" in happened[1].sentence


def test_names_come_from_the_folders_of_the_logs(tmp_path: Path) -> None:
    """The state files know UIDs only."""
    source = node(tmp_path)
    stage = with_pods(source.idle, "one")
    uid = next(iter(stage.ledger.active))
    (tmp_path / "pod-logs" / f"default_one_{uid}").mkdir(parents=True)
    (tmp_path / "pod-logs" / "something-else").mkdir()
    write_state(tmp_path, stage)
    (change,) = changes_of(source)
    assert change.known[uid].name == "default/one"


def test_state_that_a_kubelet_would_refuse_is_shown_with_a_warning(tmp_path: Path) -> None:
    """The kubelet that wrote it may still run. It is tried some times: it may be in the middle of writing."""
    source = node(tmp_path)
    stage = with_pods(source.idle, "one")
    write_state(tmp_path, stage)
    path = tmp_path / CPU_FILE
    path.write_text(path.read_text().replace("static", "none"))
    (change,) = changes_of(source)
    assert "would not start over this state" in change.warning
    found = Snapshot(source.place, change.stage, change.known).view()
    expected = Snapshot(source.place, stage).view()
    assert [(one.id, one.cpus, one.memory) for one in found.holders] == [
        (one.id, one.cpus, one.memory) for one in expected.holders
    ]


@pytest.mark.parametrize("name", STATE_FILES)
def test_a_checkpoint_with_a_wrong_checksum_is_a_notice_and_not_an_empty_machine(tmp_path: Path, name: str) -> None:
    """The kubelet would not start over its CPUs and memory, and would start without its devices: the one that runs has
    them all the same."""
    source = node(tmp_path)
    stage = with_pods(source.idle, "one", "two")
    write_state(tmp_path, stage)
    path = state_path(tmp_path, name)
    path.write_text(re.sub(r'(?i)("checksum":)\d+', r"\g<1>123", path.read_text()))
    (change,) = changes_of(source)
    assert change.warning.startswith(f"{tmp_path}: a kubelet ")
    found = Snapshot(source.place, change.stage, change.known).view()
    expected = Snapshot(source.place, stage).view()
    assert [(one.id, one.cpus, one.memory, one.devices) for one in found.holders] == [
        (one.id, one.cpus, one.memory, one.devices) for one in expected.holders
    ]


def test_devices_that_cannot_be_read_at_all_are_a_notice(tmp_path: Path) -> None:
    """The rest is shown."""
    source = node(tmp_path)
    stage = with_pods(source.idle, "one")
    write_state(tmp_path, stage)
    state_path(tmp_path, DEVICE_FILE).write_text("no JSON")
    (change,) = changes_of(source)
    assert "would forget which devices are held" in change.warning
    (holder,) = Snapshot(source.place, change.stage, change.known).view().holders
    assert (holder.cpus, holder.devices) == ("1-4,65-68", {})


@pytest.mark.skipif(not RUNS, reason="the runs of a real kubelet do not lie beside the repository")
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_state_of_a_real_kubelet_is_shown(run: Path) -> None:
    """1.36.4: every pod of its files with its CPUs."""
    capture = SHARED / "captures" / (run / "machine").read_text().strip() / "sys.tgz"
    configuration = (run / "kubelet-config.json").read_text()
    source = KubeletNode(run, resolve_machine([str(capture)]).machine, configuration, "v1.36.4", run / "none")
    (change,) = changes_of(source)
    snapshot = Snapshot(source.place, change.stage, change.known).view()
    entries = json.loads((run / CPU_FILE).read_text())["entries"]
    expected = {}
    for uid, containers in entries.items():
        cpus = 0
        for text in containers.values():
            cpus |= parse_cpuset(text)
        expected[uid] = cpuset_text(cpus)
    assert {holder.id: holder.cpus for holder in snapshot.holders if holder.cpus} == expected


@pytest.mark.parametrize("text", ["", "no JSON", '{"entries": 3}', '{"defaultCpuSet": "5-x"}'])
def test_state_that_cannot_be_read_is_one_sentence(tmp_path: Path, text: str) -> None:
    """Nothing is shown that nobody wrote."""
    source = node(tmp_path)
    (tmp_path / CPU_FILE).write_text(text)
    with pytest.raises(InputError, match="the state cannot be read"):
        changes_of(source)


def test_a_pod_gets_its_name_when_its_logs_come(tmp_path: Path) -> None:
    """The kubelet writes its state before it makes the folder of the logs; questions use the name, too."""
    source = node(tmp_path)
    write_state(tmp_path, with_pods(source.idle, "one"))
    uid = read_pods(POD.replace("asked", "one")).pods[0].uid
    first, second = changes_of(source, lambda: (tmp_path / "pod-logs" / f"team_one_{uid}").mkdir(parents=True))
    assert [first.known[uid].name, second.known[uid].name] == [uid, "team/one"]
    pod = second.stage.ledger.active[uid]
    assert (pod.namespace, pod.name, second.happened) == ("team", "one", None)
