import asyncio
from pathlib import Path

import pytest

from numafit.cluster.node import learn
from numafit.cluster.node.learn import Learnt, NodeLearner
from numafit.cluster.node.sockets import SilentKubelet, SocketAnswer
from numafit.errors import InputError
from numafit.machine.model import Device
from tests.cluster.node.fakes import FakeApi
from tests.cluster.node.hosts import KUBELET, host, node_object

NODE = "/api/v1/nodes/n1"


class Kubelet:
    """What its socket says."""

    def __init__(self, *ids: str) -> None:
        self.ids: tuple[str, ...] | None = ids

    async def asked(self, folder: Path) -> SocketAnswer:
        if self.ids is None:
            raise SilentKubelet("there is no socket")
        return SocketAnswer(tuple(Device("lab.io/gpu", id, (index % 2,)) for index, id in enumerate(self.ids)))


@pytest.fixture
def api() -> FakeApi:
    own = FakeApi()
    own.objects[NODE] = node_object()
    return own


@pytest.fixture
def kubelet(monkeypatch: pytest.MonkeyPatch) -> Kubelet:
    own = Kubelet()
    monkeypatch.setattr(learn, "asked", own.asked)
    return own


def learnt(learner: NodeLearner) -> Learnt:
    async def play() -> Learnt:
        await learner.fetch_node()
        return await learner.learn()

    return asyncio.run(play())


def texts(found: Learnt) -> list[str]:
    return [note.text for note in found.notes if note.code == "node-not-learnt"]


def test_a_node_is_learnt_from_itself(tmp_path: Path, api: FakeApi, kubelet: Kubelet) -> None:
    host(tmp_path)
    kubelet.ids = ("g0", "g1")
    found = learnt(NodeLearner(tmp_path, "n1", api))
    node = found.stage.node
    assert (str(node.settings.version), node.settings.cpu_policy, node.settings.topology_policy) == (
        "v1.36.4",
        "static",
        "restricted",
    )
    assert (found.folder, found.sure, texts(found)) == (tmp_path / KUBELET, True, [])
    assert [(own.id, own.numa) for own in node.machine.devices if own.resource] == [("g0", (0,)), ("g1", (1,))]
    assert len(node.machine.cpus) == 16


def test_a_device_that_is_counted_and_not_listed_is_sick(tmp_path: Path, api: FakeApi, kubelet: Kubelet) -> None:
    """PodResources tells the healthy ones only, the Node how many there are."""
    host(tmp_path)
    learner = NodeLearner(tmp_path, "n1", api)
    api.objects[NODE] = node_object(**{"lab.io_gpu": "2"})
    kubelet.ids = ("g0",)
    assert texts(learnt(learner)) == [
        "1 devices of lab.io/gpu are not healthy, or not the kubelet's, and nobody tells which"
    ]
    kubelet.ids = ("g0", "g1")
    assert all(own.healthy for own in learnt(learner).stage.node.machine.devices)
    kubelet.ids = ("g0",)
    found = learnt(learner)
    assert {own.id: own.healthy for own in found.stage.node.machine.devices} == {"g0": True, "g1": False}
    assert texts(found) == []
    api.objects[NODE] = node_object(**{"lab.io_gpu": "1"})
    assert {own.id for own in learnt(learner).stage.node.machine.devices} == {"g0"}


def test_a_silent_kubelet_leaves_the_devices_as_they_were(tmp_path: Path, api: FakeApi, kubelet: Kubelet) -> None:
    host(tmp_path)
    learner = NodeLearner(tmp_path, "n1", api)
    kubelet.ids = ("g0",)
    learnt(learner)
    kubelet.ids = None
    found = learnt(learner)
    assert [own.id for own in found.stage.node.machine.devices if own.resource] == ["g0"]
    assert texts(found) == ["its kubelet does not tell of devices and their places: there is no socket"]


def test_a_configuration_that_is_changed_is_news_to_the_next_kubelet(
    tmp_path: Path, api: FakeApi, kubelet: Kubelet
) -> None:
    host(tmp_path)
    learner = NodeLearner(tmp_path, "n1", api)
    learnt(learner)
    (tmp_path / "etc" / "kubelet.yaml").write_text((tmp_path / "etc" / "kubelet.yaml").read_text() + "maxPods: 7\n")
    assert learnt(learner).stage.config.max_pods == 110
    stat = tmp_path / "proc" / "20" / "stat"
    stat.write_text(stat.read_text().replace(" 7 0", " 8 0"))
    assert learnt(learner).stage.config.max_pods == 7


def test_while_no_kubelet_runs_the_settings_are_those_of_the_last(
    tmp_path: Path, api: FakeApi, kubelet: Kubelet
) -> None:
    """It is about to start again, most often; a scheduler must not see a node without policies meanwhile."""
    host(tmp_path)
    learner = NodeLearner(tmp_path, "n1", api)
    before = learnt(learner)
    (tmp_path / "proc" / "20" / "cmdline").unlink()
    found = learnt(learner)
    assert (found.process, found.stage.config) == (None, before.stage.config)
    assert texts(found) == ["none is seen to run: its settings are those of the last one"]


def test_which_right_is_lacking_is_told(tmp_path: Path, api: FakeApi, kubelet: Kubelet) -> None:
    host(tmp_path)
    (tmp_path / "etc" / "kubelet.yaml").unlink()
    api.forbidden = {f"{NODE}/proxy/configz"}
    found = learnt(NodeLearner(tmp_path, "n1", api))
    assert not found.sure
    (text,) = texts(found)
    assert "cannot be read: No such file" in text
    assert text.endswith("/configz: the right is lacking to get nodes/proxy")


def test_what_the_api_server_hands_out_will_do(tmp_path: Path, api: FakeApi, kubelet: Kubelet) -> None:
    host(tmp_path)
    config = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1"}
    api.objects[f"{NODE}/proxy/configz"] = {"kubeletconfig": config}
    found = learnt(NodeLearner(tmp_path, "n1", api, config="configz"))
    assert (found.sure, found.stage.node.settings.reserved_cpus) == (True, "0-1")


def test_a_configuration_with_which_it_would_not_start_is_not_believed(
    tmp_path: Path, api: FakeApi, kubelet: Kubelet
) -> None:
    host(tmp_path, "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\ncpuManagerPolicy: static\n")
    found = learnt(NodeLearner(tmp_path, "n1", api))
    assert not found.sure
    assert "it would not start" in texts(found)[0]


def test_without_a_node_the_release_is_assumed(tmp_path: Path, api: FakeApi, kubelet: Kubelet) -> None:
    host(tmp_path)
    api.objects.clear()
    found = learnt(NodeLearner(tmp_path, "n1", api))
    assert not found.sure
    assert "there is no Node object" in texts(found)[0]


def test_without_a_machine_there_is_nothing_to_tell(tmp_path: Path, api: FakeApi, kubelet: Kubelet) -> None:
    with pytest.raises(InputError, match="no CPU and no NUMA node"):
        learnt(NodeLearner(tmp_path, "n1", api))
