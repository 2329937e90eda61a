"""From the words of a question to a node that can be asked."""

from typing import Any

import pytest
from msgspec.structs import replace

from numafit.decision.life import release
from numafit.errors import InputError
from numafit.machine.catalogue.names import machine_named
from numafit.machine.file.write import machine_value
from numafit.service.node import Snapshot
from numafit.service.sources.demo import Demo
from numafit.service.workers.question import Place, Shorthand
from numafit.service.workers.scene import MOST_PODS, MOST_STAGES, Scenes, with_pods_of
from tests.service.agents import POD
from tests.workload.dumps import dump, manifest, running


def busy() -> Scenes:
    """The demonstration after some of its life."""
    demo = Demo()
    changes = [change for _ in range(6) for change in demo.events()]
    return Scenes(Snapshot(demo.place, changes[-1].stage, changes[-1].known))


def test_a_question_without_a_machine_comes_on_top_of_what_is_held() -> None:
    """Unless it asks for an idle node."""
    scenes = busy()
    assert scenes.scene(Place(), empty=False).stage is scenes.snapshot.stage
    assert not scenes.scene(Place(), empty=True).stage.ledger.active


def test_another_machine_is_idle() -> None:
    """Nobody is on it; its kubelet is the example, of the newest release."""
    scene = busy().scene(Place(machine="laptop"), empty=False)
    assert not scene.stage.ledger.active
    assert scene.stage.node.machine == machine_named("laptop")


@pytest.mark.parametrize(
    "spec",
    [machine_value(machine_named("laptop")), "sketch:1 socket x 4 cores x 2 threads, 8Gi per numa"],
)
def test_a_machine_may_be_written_out(spec: Any) -> None:
    """As a machine file, or as a sketch."""
    machine = busy().scene(Place(machine=spec), empty=False).stage.node.machine
    assert len(machine.cpus) == 8


@pytest.mark.parametrize("spec", ["/etc/passwd", "live", "-", "../box.yaml", "no-such-box"])
def test_no_file_of_this_machine_is_read_by_its_name(spec: str) -> None:
    """A request names machines of the catalogue only."""
    with pytest.raises(InputError, match="no machine in the catalogue"):
        busy().scene(Place(machine=spec), empty=False)


def test_another_policy_restarts_the_kubelet_over_the_pods_that_are_there() -> None:
    """They keep what they hold."""
    scenes = busy()
    stage = scenes.scene(Place(settings=Shorthand(policy="best-effort")), empty=False).stage
    assert stage.node.topology.policy == "best-effort"
    assert stage.ledger.cpu.entries == scenes.snapshot.ledger.cpu.entries


def test_a_restart_is_not_repeated_over_the_same_pods_and_is_over_others() -> None:
    """Who types asks the same kubelet again and again; a new ledger is never answered with the old one."""
    scenes = busy()
    snapshot = scenes.snapshot
    asked = Place(settings=Shorthand(policy="best-effort"))
    first = scenes.scene(asked, empty=False).stage
    assert scenes.scene(asked, empty=False).stage is first
    assert len(first.ledger.active) == len(snapshot.ledger.active) > 0
    uid = next(iter(snapshot.ledger.active))
    scenes.snapshot = replace(
        snapshot, stage=replace(snapshot.stage, ledger=release(snapshot.ledger, uid)), revision=snapshot.revision + 1
    )
    assert uid not in scenes.scene(asked, empty=False).stage.ledger.active


def test_a_restart_that_fails_says_how_to_ask_otherwise() -> None:
    """A kubelet with another CPU policy does not start over the old state file."""
    with pytest.raises(InputError, match="over the pods that are here") as found:
        busy().scene(Place(settings=Shorthand(cpu_manager_policy="none")), empty=False)
    assert '"empty": true' in found.value.cure


def test_an_option_brings_its_gate_along() -> None:
    """An alpha option without its gate would keep the kubelet from starting."""
    place = Place(machine="dgx-a100", settings=Shorthand(cpu_options={"align-by-socket": "true"}))
    scene = busy().scene(place, empty=True)
    assert scene.stage.node.cpu.options.align_by_socket
    assert "CPUManagerPolicyAlphaOptions: true" in scene.kubelet


def test_options_are_laid_over_those_that_are_there() -> None:
    """A machine with 34 NUMA nodes needs an option that the question does not name."""
    place = Place(machine="gb200", settings=Shorthand(topology_options={"prefer-closest-numa-nodes": "true"}))
    scene = busy().scene(place, empty=True)
    assert dict(scene.stage.node.settings.topology_options) == {
        "max-allowable-numa-nodes": "34",
        "prefer-closest-numa-nodes": "true",
    }


def test_a_kubelet_that_would_not_start_is_blamed_on_its_line() -> None:
    """The place is in the text of the question."""
    text = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ntopologyManagerPolicy: narrow\n"
    with pytest.raises(InputError) as found:
        busy().scene(Place(kubelet=text), empty=True)
    assert (found.value.source, found.value.line) == ("kubelet", 3)


def test_too_many_pods_are_refused_before_they_are_made() -> None:
    """A number of replicas is quickly typed."""
    text = POD.replace("kind: Pod", "kind: Pod")
    deployment = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: many}\nspec:\n  replicas: 2000000000\n"
        "  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n"
        "    spec: {containers: [{name: c, image: i}]}\n"
    )
    stage = busy().snapshot.stage
    assert len(with_pods_of(text, stage).pods) == 1
    with pytest.raises(InputError, match=f"at most {MOST_PODS} are played"):
        with_pods_of(deployment, stage)


def test_a_pod_that_is_there_already_is_refused() -> None:
    """It would be taken for the one that runs."""
    scenes = busy()
    pod = next(iter(scenes.snapshot.ledger.active.values()))
    text = POD.replace("{name: asked}", f"{{name: {pod.name}, namespace: {pod.namespace}}}")
    with pytest.raises(InputError, match="on this node already"):
        with_pods_of(text, scenes.snapshot.stage)


def test_only_so_many_nodes_are_remembered() -> None:
    """Each question may name another; the memory of a worker is finite."""
    scenes = busy()
    for cores in range(2, 2 + MOST_STAGES + 5):
        scenes.scene(Place(machine=f"sketch:1 socket x {cores} cores x 2 threads, 8Gi per numa"), empty=True)
    assert len(scenes.stages) == MOST_STAGES


def test_pods_of_a_dump_that_are_on_the_node_are_not_played_again() -> None:
    """Only those to come are; with none of them there is nothing to ask."""
    scenes = busy()
    there = next(iter(scenes.snapshot.ledger.active.values()))
    runs = running(there.name, namespace=there.namespace, uid=there.uid)
    ready = with_pods_of(dump(runs, manifest("new")), scenes.snapshot.stage)
    assert [pod.name for pod in ready.pods] == ["new"]
    assert list(ready.ledger.active) == [*(uid for uid in scenes.snapshot.ledger.active if uid != there.uid), there.uid]
    with pytest.raises(InputError, match="those that are given are on the node already"):
        with_pods_of(dump(runs), scenes.snapshot.stage)
