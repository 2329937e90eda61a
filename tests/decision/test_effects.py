"""What an event changes besides the decisions that it causes."""

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from numafit.decision.effects import (
    Effect,
    GotDevices,
    LostPlace,
    NotStarted,
    OtherMemory,
    StartedAgain,
    StartedAtLast,
    WaitsForKubelet,
    effect_in_words,
    told_events,
)
from numafit.decision.history.lines import read_events
from numafit.decision.simulation import Simulation, play_events
from numafit.show.records.effects import effect_records
from numafit.workload.pod import Pod
from tests.advice.stages import stage
from tests.decision.strategies import GI, GPU, container, cpus, memory, pod

NIC = "example.com/nic"
TRAIN = pod("train", cpus("app", "2", {GPU: "1"}))
ROUTER = pod("router", cpus("app", "2", {NIC: "1"}))
JOB = pod("job", memory("app", "1Gi"), init=[memory("first", "2Gi")])


def played(text: str, *pods: Pod) -> Simulation:
    return play_events(stage().situation, read_events(text, "events", pods))


def effects(text: str, *pods: Pod) -> list[tuple[Effect, ...]]:
    return [told.effects for told in told_events(played(text, *pods))]


def test_a_pod_that_comes_while_the_kubelet_is_down_waits() -> None:
    """Once: it is not told again at the next event."""
    found = effects("stop\nadd pod-train\nreconcile\nstart", TRAIN)
    assert found == [(), (WaitsForKubelet("default/pod-train"),), (), ()]


def test_a_resize_waits_for_the_kubelet_too() -> None:
    wants = pod("web", container("app", {}, requests={"cpu": "1"}))
    text = "add pod-web\nstop\nresize pod-web app requests.cpu=2\nresize pod-web app requests.cpu=2\nstart"
    waits = (WaitsForKubelet("default/pod-web", resize=True),)
    assert effects(text, wants) == [(), (), waits, (), ()]


def test_a_device_pod_loses_its_place_at_a_reboot_before_its_plugin_comes() -> None:
    """Kubelet 1.36.3: no healthy devices present."""
    found = effects("add pod-train\nrestart reboot plugins=late", TRAIN)
    assert found == [(), (LostPlace("default/pod-train", "UnexpectedAdmissionError"),)]


def test_a_container_that_starts_again_gets_the_device_that_its_pod_was_admitted_without() -> None:
    """And may lose its place by that at the next restart (kubelet 1.36.3)."""
    found = effects("add pod-router\nplugin-start example.com/nic n0@1\nexit pod-router app\nrestart", ROUTER)
    assert found == [
        (),
        (),
        (GotDevices("default/pod-router", "app", NIC, ("n0",)),),
        (LostPlace("default/pod-router", "TopologyAffinityError"),),
    ]


def test_a_container_without_a_free_device_starts_when_there_is_one() -> None:
    """What could not be started is tried after each event."""
    text = "add pod-router\nplugin-start example.com/nic !n0@0\nexit pod-router app\ndevices example.com/nic n0@0"
    assert effects(text, ROUTER)[2:] == [
        (NotStarted("default/pod-router", "app", (NIC,), (0,), (0,)),),
        (GotDevices("default/pod-router", "app", NIC, ("n0",)), StartedAtLast("default/pod-router", "app")),
    ]


def test_init_containers_are_charged_at_a_restart_until_a_container_starts() -> None:
    """Kubelet 1.36.3: reuse is computed anew when a container starts."""
    found = effects("add pod-job\nrestart\nexit pod-job app", JOB)
    assert found[1:] == [
        (OtherMemory("default/pod-job", 2 * GI),),
        (StartedAgain("default/pod-job", "app", ()), OtherMemory("default/pod-job", -2 * GI)),
    ]


def test_a_container_that_ends_starts_again_with_the_devices_that_it_holds() -> None:
    found = effects("add pod-train\nexit pod-train", TRAIN)
    assert found == [(), (StartedAgain("default/pod-train", "app", ("GPU0",)),)]


def test_a_container_that_does_not_run_cannot_end() -> None:
    text = "add pod-router\nplugin-start example.com/nic !n0@0\nexit pod-router\nexit pod-router"
    run = played(text, ROUTER)
    assert [each.void for each in run.happened] == ["", "", "", "container app of default/pod-router does not run"]
    assert [len(told.effects) for told in told_events(run)] == [0, 0, 1, 0]


def test_every_effect_has_its_record() -> None:
    """A container that waits for the kubelet had none: -o json ended with a TypeError."""
    text = "add pod-train\nstop\nexit pod-train\nstart"
    records = [effect_records(told) for told in told_events(played(text, TRAIN))]
    (waits,) = records[2]
    assert (waits.kind, waits.container, waits.down, waits.resources) == ("not-started", "app", True, UNSET)


def test_of_one_pod_the_events_that_it_has_a_part_in_are_told() -> None:
    text = "add pod-train\nadd pod-router\nreconcile\nrestart\nremove pod-train"
    told = told_events(played(text, TRAIN, ROUTER), "default/pod-train")
    assert [(each.number, len(each.steps)) for each in told] == [(1, 1), (4, 1), (5, 0)]


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        (LostPlace("p", "OutOfcpu"), "ran, and loses its place (OutOfcpu)"),
        (WaitsForKubelet("p"), "waits: the kubelet is down"),
        (WaitsForKubelet("p", resize=True), "its resize waits: the kubelet is down"),
        (
            GotDevices("p", "c", NIC, ("a", "b")),
            "container c is given a, b (example.com/nic) as it starts, without any hint",
        ),
        (NotStarted("p", "c", (NIC,), (0,), (0,)), "container c cannot be started: no example.com/nic is healthy"),
        (NotStarted("p", "c", (NIC,), (2,), (0,)), "container c cannot be started: no example.com/nic is free"),
        (NotStarted("p", "c", (NIC,), (2,), (1,)), "container c cannot be started: only 1 example.com/nic is free"),
        (NotStarted("p", "c", (), down=True), "container c waits to be started: the kubelet is down"),
        (NotStarted("p", "c", ()), "container c cannot be started: the one before it does not run"),
        (StartedAgain("p", "c", ()), "container c starts again"),
        (StartedAgain("p", "c", ("a", "b")), "container c starts again with a, b"),
        (StartedAtLast("p", "c"), "container c starts at last"),
        (OtherMemory("p", GI), "holds 1Gi of memory more: that of its init containers is charged again"),
        (OtherMemory("p", -GI), "gives back 1Gi of memory that its init containers held"),
    ],
)
def test_an_effect_has_its_words(effect: Effect, words: str) -> None:
    assert effect_in_words(effect) == words


def test_effects_are_of_the_pod_that_came_last_under_a_name() -> None:
    """A pod that comes once more has another UID."""
    again = replace(TRAIN, uid="train#2")
    simulation = played("add pod-train\nremove pod-train\nadd pod-train", TRAIN)
    assert [step.decision.pod.uid for step in simulation.steps] == ["train", again.uid]
    assert [told.effects for told in told_events(simulation)] == [(), (), ()]
