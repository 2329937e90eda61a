import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.reflector import ObjectChange
from numafit.cluster.node import agent as module
from numafit.cluster.node import learn, publish
from numafit.cluster.node.agent import AgentOptions, NodeAgent
from numafit.cluster.node.metrics import AgentCounts
from numafit.cluster.node.pods import NodePod, by_uid
from numafit.cluster.node.sockets import SocketAnswer
from numafit.cluster.topology.model import PATH
from numafit.cluster.topology.read import read_topology
from numafit.decision.files import state_files
from numafit.errors import ApiServerError, InputError
from numafit.ledger.state_files import CPU_FILE
from numafit.workload.pod import Pod
from tests.cluster.node.fakes import ENDED, RUNNING, FakeApi, node_pod, pod_object
from tests.cluster.node.hosts import host, node_object

OBJECT, NODE = f"{PATH}/n1", "/api/v1/nodes/n1"


class Cluster(FakeApi):
    """Lists, too; nothing is watched, so `served` is set by the test."""

    async def get(self, path: str, parameters: Any = None) -> bytes:
        if path in ("/api/v1/pods", PATH):
            return b'{"metadata": {"resourceVersion": "1"}, "items": []}'
        return await super().get(path, parameters)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    async def nobody(folder: Path) -> SocketAnswer:
        return SocketAnswer(())

    monkeypatch.setattr(learn, "asked", nobody)
    monkeypatch.setattr(publish, "PACE_SECONDS", 0.01)
    monkeypatch.setattr(module, "SOON_SECONDS", 0.05)
    own = Cluster()
    own.objects[NODE] = node_object()
    return own


async def eventually(holds: Any) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.02)


def test_what_happens_on_the_node_is_published_and_compared(tmp_path: Path, api: Cluster) -> None:
    folder = host(tmp_path)
    said: list[str] = []
    counts = AgentCounts()

    async def story() -> None:
        own = NodeAgent(api, AgentOptions("n1", tmp_path), counts, ApiHealth(), said.append)
        work = asyncio.create_task(own.run())
        try:
            await eventually(lambda: OBJECT in api.objects)
            # a pod comes: its kubelet writes its CPUs, then its status
            content = pod_object("p", "u")
            pod = msgspec.json.decode(json.dumps(content), type=NodePod)
            stage = own._learnt.stage if own._learnt else None
            assert stage is not None
            after = stage.play(tuple(own.reader.pods(by_uid([pod]), pod_level=True).values())).after
            own.served.items["team/p"] = pod
            own._pod_changed(ObjectChange("team/p", None, pod))
            (folder / "new").write_text(state_files(stage.node, after)[CPU_FILE])
            (folder / "new").rename(folder / CPU_FILE)
            await eventually(lambda: api.objects[OBJECT]["status"].get("holders"))
            running = msgspec.json.decode(json.dumps(pod_object("p", "u", status=RUNNING)), type=NodePod)
            own.served.items["team/p"] = running
            own._pod_changed(ObjectChange("team/p", pod, running))
            await eventually(lambda: sum(counts.decisions.values()))
        finally:
            work.cancel()

    asyncio.run(story())
    topology = read_topology(json.dumps({**api.objects[OBJECT], "metadata": {"name": "n1"}}).encode())
    (holder,) = topology.status.holders
    assert (holder.uid, holder.name, holder.containers[0].cpus) == ("u", "team/p", "8")
    assert counts.decisions == {"equal": 1, "differs": 0, "not comparable": 0}
    assert api.objects[NODE]["metadata"]["annotations"]["topology.numafit.io/state"] == topology.status.digest
    assert said[-1] == "team/p: decided as expected"


def test_what_is_held_is_never_told_as_free_while_its_pod_may_be_there(tmp_path: Path, api: Cluster) -> None:
    """The kubelet writes its files before the API server has told the agent of the pod; another one cannot be read."""
    seconds = [100.0]
    read, ended = node_pod("read", "told"), node_pod("over", "ended", status=ENDED)
    holding = {uid: Pod(uid, uid, ()) for uid in ("untold", "told", "unreadable", "ended")}
    served = by_uid([read, node_pod("odd", "unreadable"), ended])

    async def story() -> None:
        own = NodeAgent(api, AgentOptions("n1", tmp_path), AgentCounts(), ApiHealth(), print)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "time", SimpleNamespace(monotonic=lambda: seconds[0]))

            def unnamed() -> list[str]:
                return list(own._unnamed(holding, served, {"told": holding["told"]}))

            assert unnamed() == ["untold", "unreadable"]
            seconds[0] += module.UNTOLD_SECONDS + 1
            assert unnamed() == ["unreadable"]
            # who was told of and is no longer has gone
            del served["unreadable"]
            assert unnamed() == []

    asyncio.run(story())


def test_without_a_machine_it_does_not_begin(tmp_path: Path, api: Cluster) -> None:
    async def story() -> None:
        await NodeAgent(api, AgentOptions("n1", tmp_path), AgentCounts(), ApiHealth(), print).run()

    with pytest.raises(InputError, match="no CPU and no NUMA node"):
        asyncio.run(story())


def test_what_keeps_the_api_server_from_telling_pods_is_said_once(
    tmp_path: Path, api: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent without rights, or without a cluster, is not silent."""
    monkeypatch.setattr(module, "FIRST_SECONDS", 0.05)
    said: list[str] = []

    async def refuse(path: str, parameters: Any = None) -> bytes:
        raise ApiServerError("pods is forbidden", status=403)

    monkeypatch.setattr(api, "get", refuse)

    async def story() -> None:
        work = asyncio.create_task(
            NodeAgent(api, AgentOptions("n1", tmp_path), AgentCounts(), ApiHealth(), said.append).run()
        )
        await eventually(lambda: said)
        await asyncio.sleep(0.2)
        work.cancel()

    asyncio.run(story())
    assert said == ["the API server does not tell the pods of n1, it is asked again: pods is forbidden"]


def test_a_node_of_another_machine_is_left_alone(tmp_path: Path, api: Cluster) -> None:
    """A wrong --node-name would overwrite the truth about another node."""
    host(tmp_path)
    boot = tmp_path / learn.BOOT_ID
    boot.parent.mkdir(parents=True)
    boot.write_text("here\n")
    api.objects[NODE]["status"]["nodeInfo"]["bootID"] = "there"
    said: list[str] = []

    async def story() -> None:
        work = asyncio.create_task(
            NodeAgent(api, AgentOptions("n1", tmp_path), AgentCounts(), ApiHealth(), said.append).run()
        )
        await eventually(lambda: any("n1: v1.36.4" in line for line in said))
        await asyncio.sleep(0.2)
        assert OBJECT not in api.objects
        api.objects[NODE]["status"]["nodeInfo"]["bootID"] = "here"
        await eventually(lambda: OBJECT in api.objects)
        work.cancel()

    asyncio.run(story())
    assert said[0].startswith("the Node n1 is that of another machine (--node-name), or its kubelet has not run")
