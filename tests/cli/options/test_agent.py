"""`--agent`: the commands ask on top of what a running agent shows."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest
from msgspec import convert, to_builtins

from numafit.__main__ import main
from numafit.host.book.book import Book
from numafit.host.grant import Owner
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.process.identity import boot_id
from numafit.host.request import JobRequest
from numafit.host.this_machine import live_machine
from numafit.ledger.ledger import Ledger
from numafit.ledger.state_files import CPU_FILE
from numafit.service import client
from numafit.service.api.handlers import state_of
from numafit.service.node import Snapshot
from numafit.service.sources.demo import Demo
from numafit.service.workers.answer import ANSWERS
from numafit.service.workers.question import BODIES
from numafit.service.workers.scene import Scenes
from tests.service.agents import POD, Running, running
from tests.service.sources.test_kubelet import KUBELET, node, with_pods, write_state


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """It shows a kubelet with two pods, which nothing changes."""
    folder = tmp_path_factory.mktemp("kubelet")
    write_state(folder, with_pods(node(folder).idle, "one", "two"))
    (folder / "config.yaml").write_text(KUBELET)
    options = ("--kubelet-dir", str(folder), "--machine", "gpu8-128cpu", "--socket", str(folder / "agent.sock"))
    with running(*options) as found:
        yield found


@pytest.fixture
def pod(tmp_path: Path) -> str:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return str(path)


@pytest.mark.parametrize("command", ["simulate", "explain", "advise", "fit"])
def test_a_command_says_what_the_agent_says(
    command: str, agent: Running, pod: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same JSON as from the API, by URL and through the unix socket."""
    expected = httpx.post(f"{agent.url}/api/v1/{command}", json={"pods": POD}, timeout=60).json()
    for address in (agent.url, agent.line.split()[-1]):
        assert main([command, "--agent", address, "-o", "json", pod]) == 0
        assert json.loads(capsys.readouterr().out) == expected


def test_what_is_held_counts(agent: Running, pod: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The new pod comes behind the two that are there."""
    assert main(["simulate", "--agent", agent.url, pod]) == 0
    assert "9-12,73-76" in capsys.readouterr().out


NODE_OBJECT = """\
apiVersion: v1
kind: Node
metadata: {name: one, labels: {disk: hdd}}
spec: {taints: [{key: broken, effect: NoExecute}]}
status:
  allocatable: {ephemeral-storage: 10Gi, lab.io/dongle: "1"}
  nodeInfo: {kubeletVersion: v1.35.2}
"""
TOLERANT = "  tolerations: [{key: broken, operator: Exists}]\n"
PODS = "---\n".join(
    [
        POD,
        POD.replace("asked", "tolerant") + TOLERANT,
        POD.replace("asked", "choosy") + TOLERANT + "  nodeSelector: {disk: ssd}\n",
        POD.replace("asked", "full").replace("16Gi", "16Gi, ephemeral-storage: 11Gi") + TOLERANT,
        POD.replace("asked", "dongle").replace("16Gi", '16Gi, lab.io/dongle: "2"') + TOLERANT,
    ]
)


def test_all_doors_know_what_the_node_object_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Labels, taints, disk, resources of others and the release: by file, from the agent, and from its API."""
    folder, node_object, pods = tmp_path / "kubelet", tmp_path / "node.yaml", tmp_path / "pods.yaml"
    folder.mkdir()
    write_state(folder, with_pods(node(folder).idle, "one", "two"))
    (folder / "config.yaml").write_text(KUBELET)
    node_object.write_text(NODE_OBJECT)
    pods.write_text(PODS)
    machine = ["--machine", "gpu8-128cpu", "--node-object", str(node_object)]
    answers = []
    with running("--kubelet-dir", str(folder), *machine) as agent:
        answers.append(httpx.post(f"{agent.url}/api/v1/simulate", json={"pods": PODS}, timeout=60).json())
        assert main(["simulate", "--agent", agent.url, "-o", "json", str(pods)]) == 0
        answers.append(json.loads(capsys.readouterr().out))
        assert (
            main(["simulate", "--agent", agent.url, "-o", "json", "--allocatable", "lab.io/dongle=2", str(pods)]) == 0
        )
        other = json.loads(capsys.readouterr().out)
        empty = {"pods": PODS, "empty": True}
        alone = httpx.post(f"{agent.url}/api/v1/simulate", json=empty, timeout=60).json()
    files = ["--kubelet", str(folder / "config.yaml"), "--state", str(folder)]
    assert main(["simulate", *machine, *files, "-o", "json", str(pods)]) == 0
    answers.append(json.loads(capsys.readouterr().out))
    reasons = ["TaintToleration", "", "NodeAffinity", "OutOfephemeral-storage", "OutOflab.io/dongle"]
    for answer in (*answers, alone):
        assert [each.get("reason", "") for each in answer["decisions"]] == reasons
        assert answer["kubeVersion"] == "v1.35.2"
    assert answers[0]["decisions"] == answers[1]["decisions"] == answers[2]["decisions"]
    assert [each.get("reason", "") for each in other["decisions"]][-1] == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--agent", "http://127.0.0.1:1"), "the agent does not answer"),
        (("--agent", "/no/such/socket"), "the agent does not answer"),
        (("--agent", "ftp://x"), "is no address of an agent"),
        (("--agent", "http://127.0.0.1:99999"), "is no address of an agent"),
        (("--agent", "http://127.0.0.1:1", "--machine", "laptop"), "does not go with --agent"),
    ],
)
def test_an_agent_that_cannot_be_asked_is_one_sentence(
    arguments: tuple[str, ...], said: str, pod: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 2."""
    assert main(["simulate", *arguments, pod]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("arguments", [("ps",), ("ps", "-o", "json"), ("free",), ("free", "-o", "json")])
def test_leases_read_the_same_from_the_agent(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from the ledger itself; of a lease that counts by time the age is left out."""
    folder = str(tmp_path / "ledger")
    with Book.open(Path(folder)) as book:
        until = time.clock_gettime(time.CLOCK_BOOTTIME) + 600
        owner = Owner(uid=0, user="root", until=until, boot=boot_id())
        assert isinstance(
            book.take(Host(live_machine()), JobRequest(cpus=1, memory=1 << 20, name="held-here"), owner), Lease
        )
    with running("--state-dir", folder) as agent:
        assert main([*arguments, "--agent", agent.url]) == 0
        told = capsys.readouterr().out
    # What is really free an agent does not tell.
    monkeypatch.setattr("numafit.cli.host.leases.looked_at", lambda host, request: host)
    assert main([*arguments, "--state-dir", folder]) == 0
    assert without_age(told) == without_age(capsys.readouterr().out)
    assert ("held-here" in told) == (arguments[0] == "ps")


def without_age(text: str) -> str:
    return re.sub(r" \d+s ", " ", text)


@pytest.mark.parametrize("command", ["simulate", "explain", "fit"])
def test_a_pod_that_has_ended_and_one_that_holds_nothing_count_as_for_the_agent(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """State files still tell of the first, and never of the second; holders are called by their names."""
    demo = Demo()
    while not _has_both(demo.stage.ledger):
        list(demo.events())
    shown = Snapshot(demo.place, demo.stage, demo.known)
    path = tmp_path / "pod.yaml"
    path.write_text(POD.replace('nvidia.com/gpu: "1"', 'nvidia.com/gpu: "3"'))
    monkeypatch.setattr(client, "fetched", lambda _address, _path, kind: convert(to_builtins(state_of(shown)), kind))
    body = convert({"pods": path.read_text()}, BODIES[command])
    expected = json.loads(msgspec.json.encode(ANSWERS[command](Scenes(shown), body)))
    main([command, "--agent", "/the/agent.sock", "-o", "json", str(path)])
    assert json.loads(capsys.readouterr().out) == expected
    assert "demo/" in json.dumps(expected) or command != "explain"


HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"kubelet": f"{HEAD}maxPods: -1\n"}, "numafit: kubelet.yaml:3:10: maxPods: the kubelet would not start: "),
        ({"files": {CPU_FILE: "{"}}, f"numafit: state: {CPU_FILE}: the kubelet would not start: "),
        ({"machine": {"numafit": 9}}, "numafit: machine.json:1:2: "),
    ],
)
def test_what_an_agent_tells_is_called_like_the_files_of_a_node(
    told: dict[str, object],
    said: str,
    pod: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No file is written for it."""
    demo = Demo()
    shown = Snapshot(demo.place, demo.stage, demo.known)
    state = {**to_builtins(state_of(shown)), **told}
    monkeypatch.setattr(client, "fetched", lambda _address, _path, kind: convert(state, kind))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert main(["simulate", "--agent", "/the/agent.sock", pod]) == 2
    assert capsys.readouterr().err.startswith(said)


def test_a_compared_kubelet_takes_the_place_of_the_agents(
    tmp_path: Path, pod: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one that has flags only, over the state that the agent tells of."""
    demo = Demo()
    shown = Snapshot(demo.place, demo.stage, demo.known)
    state = to_builtins(state_of(shown))
    monkeypatch.setattr(client, "fetched", lambda _address, _path, kind: convert(state, kind))
    env = tmp_path / "kubelet.env"
    env.write_text("KUBELET_ARGS=--pods-per-core=7\n")
    assert main(["compare", "--check", "--agent", "/the/agent.sock", "--with-kubelet-env", str(env), pod]) == 1
    assert 'configured policy "none" differs from state checkpoint policy "static"' in capsys.readouterr().out


def _has_both(ledger: Ledger) -> bool:
    holders = {*ledger.cpu.entries, *ledger.memory.entries, *ledger.device.held}
    return bool(holders - ledger.active.keys()) and bool(ledger.active.keys() - holders)
