"""Both ways together change nothing: a decision on what comes back is the decision on what was published."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.cluster.topology.restore import config_of, ledger_of, machine_of, stage_of
from numafit.cluster.topology.write import topology_of
from numafit.decision.admit import admit
from numafit.decision.decision import Decision
from numafit.decision.node import Node
from numafit.decision.stage import Stage
from numafit.decision.start import Start, start
from numafit.errors import InputError
from numafit.ledger.ledger import Ledger
from numafit.machine.catalogue.names import catalogue
from numafit.managers.protocol import Choices
from numafit.notes import Note
from numafit.quantity import parse_quantity
from numafit.replay.cases import scenario
from numafit.replay.replay import replay
from numafit.settings.config import KubeletConfig
from numafit.settings.settings import ReservedMemory
from numafit.workload.pod import Pod
from tests.cluster.topology.nodes import GPU, guaranteed, published, stage_on, through_json, with_pods_on
from tests.decision.strategies import OFTEN, Ordered, Step, histories, nodes, pods
from tests.decision.test_laws import played
from tests.recordings.choose import HERE

RECORDED = sorted(HERE.glob("v*/*.jsonl.gz"))


def told(decision: Decision) -> Decision:
    """Without what a kubelet keeps of earlier pods for itself, and how state files lie on the disk."""
    merges = None if decision.merges is None else tuple(replace(step, ledger=Ledger()) for step in decision.merges)
    return replace(decision, ledger=Ledger(), merges=merges)


def come_back(node: Node, ledger: Ledger) -> tuple[Node, Ledger]:
    """Machine and ledger through the object; recordings know settings and plugins, and no configuration."""
    topology = through_json(topology_of("n1", Stage(node, ledger, {}, KubeletConfig())))
    known = Start(settings=node.settings, machine=machine_of(topology), plugins=node.device.plugins, active={})
    fresh = start(known, "node").node
    return fresh, ledger_of(topology, fresh, ledger.active)


def check_same(node: Node, ledger: Ledger, pod: Pod) -> None:
    fresh, restored = come_back(node, ledger)
    before, after = admit(node, ledger, pod), admit(fresh, restored, pod)
    assert told(before) == told(after)
    assert before.ledger.cpu.entries == after.ledger.cpu.entries
    assert before.ledger.memory.nodes == after.ledger.memory.nodes
    assert before.ledger.device.allocated == after.ledger.device.allocated


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_recorded_nodes_decide_the_same_after_they_were_published(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each pod of each scenario that a real kubelet decided on."""
    seen = []

    def twice(node: Node, ledger: Ledger, pod: Pod, choices: Choices | None = None) -> Decision:
        if pod.uid not in ledger.active:
            check_same(node, ledger, pod)
            seen.append(pod.uid)
        return admit(node, ledger, pod, choices)

    monkeypatch.setattr(scenario, "admit", twice)
    with gzip.open(path) as file:
        for line in file:
            replay(json.loads(line))
    assert seen or "scenario" not in path.name


@settings(max_examples=150)
@given(nodes(), histories(), st.data())
def test_drawn_nodes_decide_the_same_after_they_were_published(
    ordered: Ordered, history: tuple[Step, ...], data: st.DataObject
) -> None:
    """After any history of pods that come, go and are refused."""
    node, ledger = played(ordered, history)
    check_same(node, ledger, data.draw(pods("uid-next", OFTEN)))


@pytest.mark.parametrize("machine", sorted(catalogue()))
def test_a_whole_node_of_the_catalogue_comes_back_equal(machine: str) -> None:
    stage = with_pods_on(stage_on(machine), guaranteed("a", 2), guaranteed("b", 1, "2Gi"))
    restored = stage_of(published(stage), stage.ledger.active)
    device = replace(stage.ledger.device, written=restored.ledger.device.written)
    expected = replace(stage.ledger, device=device, cpu=restored.ledger.cpu, memory=restored.ledger.memory, affinity={})
    assert restored.node == stage.node
    assert restored.config == stage.config
    assert restored.allocatable == stage.allocatable
    assert restored.ledger.cpu.entries == stage.ledger.cpu.entries
    assert restored.ledger.cpu.default == stage.ledger.cpu.default
    assert restored.ledger.memory.nodes == stage.ledger.memory.nodes
    assert restored.ledger.memory.entries == stage.ledger.memory.entries
    assert restored.ledger.active == expected.active


def test_without_pods_of_the_api_server_a_holder_asks_for_what_it_holds() -> None:
    stage = with_pods_on(stage_on("dgx-h100"), guaranteed("a", 4, "8Gi", gpus=2))
    pod = stage_of(published(stage)).ledger.active["a"]
    assert pod.full_name == "team/a-name"
    asked = pod.containers[0].requests
    assert {name: amount.value() for name, amount in asked.items()} == {"cpu": 4, "memory": 8 << 30, GPU: 2}


def test_the_health_of_devices_comes_back_and_is_no_matter_of_the_machine() -> None:
    stage = stage_on("dgx-h100")
    sick = tuple(
        replace(device, healthy=device.label != "GPU3")
        for device in stage.node.machine.devices
        if device.resource == GPU
    )
    ledger = replace(stage.ledger, device=stage.node.device.listed(stage.ledger.device, GPU, sick))
    topology = published(replace(stage, ledger=ledger))
    assert topology.status.machine_digest == published(stage).status.machine_digest
    assert topology.status.digest != published(stage).status.digest
    (gpus,) = topology.status.devices
    assert len(gpus.unhealthy) == 1
    restored = stage_of(topology)
    assert restored.ledger.device == replace(ledger.device, written=restored.ledger.device.written)
    gpus_after = [device for device in restored.node.machine.devices if device.resource == GPU]
    assert [device.healthy for device in gpus_after] == [device.healthy for device in sick]


def test_what_the_agent_could_not_learn_is_among_the_notes_of_the_stage() -> None:
    note = Note("node-partly-known", "node", "its PodResources socket does not answer")
    topology = through_json(topology_of("n1", stage_on("laptop"), notes=[note]))
    assert note in stage_of(topology).notes


QUANTITIES = st.sampled_from(["1", "500m", "1Gi", "1024Mi", "2500M", "128Ki"])
CONFIGS = st.builds(
    KubeletConfig,
    cpu_manager_policy=st.sampled_from(["none", "static"]),
    cpu_manager_policy_options=st.none() | st.dictionaries(st.sampled_from(["full-pcpus-only"]), st.just("true")),
    memory_manager_policy=st.sampled_from(["None", "Static"]),
    reserved_memory=st.lists(
        st.builds(
            ReservedMemory,
            st.integers(0, 3),
            st.dictionaries(st.sampled_from(["memory", "hugepages-2Mi"]), QUANTITIES.map(parse_quantity), min_size=1),
        )
    ).map(tuple),
    topology_manager_policy=st.sampled_from(["none", "restricted"]),
    topology_manager_scope=st.sampled_from(["container", "pod"]),
    topology_manager_policy_options=st.none() | st.dictionaries(st.just("max-allowable-numa-nodes"), st.just("8")),
    kube_reserved=st.dictionaries(st.sampled_from(["cpu", "memory"]), QUANTITIES),
    system_reserved=st.dictionaries(st.sampled_from(["cpu", "memory"]), QUANTITIES),
    reserved_system_cpus=st.sampled_from(["", "0", "0-1,8"]),
    enforce_node_allocatable=st.sampled_from([("pods",), (), ("none",), ("pods", "kube-reserved")]),
    cgroups_per_qos=st.booleans(),
    eviction_hard=st.dictionaries(st.just("memory.available"), st.sampled_from(["100Mi", "5%"])),
    eviction_soft=st.dictionaries(st.just("memory.available"), st.just("200Mi")),
    eviction_soft_grace_period=st.dictionaries(st.just("memory.available"), st.just("1m")),
    max_pods=st.sampled_from([110, 250]),
    pods_per_core=st.sampled_from([0, 10]),
    feature_gates=st.dictionaries(st.sampled_from(["A", "B"]), st.booleans()),
    ignore_eviction=st.booleans(),
    root_dir=st.sampled_from(["/var/lib/kubelet", "/data/kubelet"]),
)


@given(CONFIGS)
def test_what_decides_of_any_configuration_comes_back(config: KubeletConfig) -> None:
    stage = replace(stage_on("laptop"), config=config)
    assert config_of(published(stage)) == config


def test_a_field_that_is_no_set_of_cpus_is_named() -> None:
    stage = with_pods_on(stage_on("dgx-h100"), guaranteed("a", 4))
    status = topology_of("n1", stage).status
    holder = status.holders[0]
    bad = replace(holder, containers=(replace(holder.containers[0], cpus="4-x"),))
    topology = replace(topology_of("n1", stage), status=replace(status, holders=(bad,)))
    with pytest.raises(InputError) as refused:
        stage_of(topology)
    assert refused.value.field == "status.holders[0].containers[0].cpus"
    assert refused.value.source == "NodeTopology n1"


def test_a_node_that_makes_no_kubelet_is_refused_in_one_sentence() -> None:
    stage = stage_on("dgx-h100")
    topology = topology_of("n1", stage)
    for change in (
        {"kubelet": {**topology.status.kubelet, "reservedMemory": [{"numaNode": 7, "limits": {"memory": "1Gi"}}]}},
        {"kubelet": {**topology.status.kubelet, "maxPods": "many"}},
        {"kubelet": {**topology.status.kubelet, "reservedMemory": [{"numaNode": 0, "limits": {"memory": "much"}}]}},
        {"release": "v9.9.9"},
        {"machine": {"format": "numafit/machine/v1", "cpus": 7}},
        {"devices": (replace(topology.status.devices[0], devices=("g9",)),)},
        {"memory": (replace(topology.status.memory[0], group="0-5"),)},
    ):
        with pytest.raises(InputError):
            stage_of(replace(topology, status=replace(topology.status, **change)))
