"""What an agent knows of its node when it plans: files of a host below a folder, the rest from the API server."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.node import learn
from numafit.cluster.node.agent import AgentOptions
from numafit.cluster.node.sockets import SocketAnswer
from numafit.cluster.orders.order import OrderMap
from numafit.cluster.orders.survey import NodeSurvey, kubelet_folder, surveyed
from numafit.cluster.switch.plan import plan_switch
from numafit.errors import InputError
from numafit.ledger.state_files import CPU_FILE
from tests.cluster.node.fakes import FakeApi, pod_object
from tests.cluster.node.hosts import CONFIG, host, node_object

META = ObjectMeta("numafit-switch-n1", "numafit", "u")


class Cluster(FakeApi):
    def __init__(self) -> None:
        super().__init__()
        self.objects["/api/v1/nodes/n1"] = node_object()
        pod: dict[str, Any] = pod_object("a", "ua", status={"phase": "Running"})
        self.objects["/api/v1/pods"] = {"metadata": {}, "items": [pod]}


@pytest.fixture(autouse=True)
def no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody(folder: Path) -> SocketAnswer:
        return SocketAnswer(())

    monkeypatch.setattr(learn, "asked", nobody)


def survey(root: Path, data: dict[str, str], **options: str) -> NodeSurvey:
    return asyncio.run(surveyed(Cluster(), AgentOptions("n1", root, **options), OrderMap(META, data)))  # type: ignore[arg-type]


def test_paths_are_those_of_the_node(tmp_path: Path) -> None:
    host(tmp_path)
    found = survey(tmp_path, {"config": CONFIG.replace("restricted", "best-effort")})
    assert (found.config, found.folder, found.process) == ("/etc/kubelet.yaml", "/var/lib/kubelet", 20)
    assert found.old == CONFIG
    plan = plan_switch(found.question)
    assert [(each.what, each.becomes) for each in plan.settings] == [("topologyManagerPolicy", "best-effort")]
    assert [(fate.pod, fate.action) for fate in plan.fates] == [("team/a", "blocked")]


def test_fields_of_the_present_configuration_are_changed_on_the_node(tmp_path: Path) -> None:
    host(tmp_path)
    found = survey(tmp_path, {"choices": json.dumps({"changes": ["topologyManagerPolicy=none"], "force": True})})
    assert "topologyManagerPolicy: none" in found.new
    assert plan_switch(found.question).refusals == ()


def test_state_files_are_read_where_they_are(tmp_path: Path) -> None:
    (host(tmp_path) / CPU_FILE).write_text("{}")
    assert survey(tmp_path, {"config": CONFIG}).question.files == {CPU_FILE: "{}"}


def test_without_a_file_there_is_nothing_to_switch(tmp_path: Path) -> None:
    host(tmp_path)
    (tmp_path / "proc" / "20" / "cmdline").write_bytes(b"kubelet\0--v=2\0")
    with pytest.raises(InputError, match="the kubelet's configuration file is not known"):
        survey(tmp_path, {"config": CONFIG})


def test_the_folder_is_as_the_agent_was_told_then_as_the_kubelet_says(tmp_path: Path) -> None:
    host(tmp_path)
    assert kubelet_folder(AgentOptions("n1", tmp_path, "/data/kubelet")) == "/data/kubelet"
    (tmp_path / "proc" / "20" / "cmdline").write_bytes(b"kubelet\0--root-dir=/other\0")
    assert kubelet_folder(AgentOptions("n1", tmp_path)) == "/other"
    assert kubelet_folder(AgentOptions("n1", tmp_path / "empty")) == "/var/lib/kubelet"
