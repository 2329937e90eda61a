"""What a seed makes of a node."""

import pytest

from numafit.replay.runs.steps import BASE, played
from tests.kube.api import Json
from tests.kube.histories import GPU, LATE, MACHINES, NIC, PAGES, History, There


def lived(seed: int, events: int = 40) -> tuple[History, list[Json]]:
    """On a node that admits everybody."""
    history = History(seed)
    plugins = {own["resource"]: list(own["devices"]) for own in history.plugins}
    running: list[str] = []
    told: list[Json] = []
    for _ in range(events):
        containers = [(pod, "c0") for pod in running]
        event = history.next(There(sorted(running), (), containers, plugins, sorted(plugins)))
        told.append(event)
        running = [name for name in running if name not in (event.get("remove") or event.get("pods") or ())]
        running += event.get("add") or ([event["pod"]] if event["op"] == "add" else [])
        if event["op"] == "plugin-stop":
            del plugins[event["resource"]]
        elif "devices" in event:
            plugins[event["resource"]] = event["devices"]
    return history, told


@pytest.mark.parametrize("seed", range(20))
def test_a_seed_makes_the_same_history_again_and_words_of_an_event_file_say_it(seed: int) -> None:
    history, events = lived(seed)
    again, once_more = lived(seed)
    assert (events, history.pods, history.config) == (once_more, again.pods, again.config)
    case = {"pods": list(history.pods.values()), "events": events}
    whole = played(case, {"cpuManagerReconcilePeriod": "1s"})
    assert (len(whole.steps), whole.left_out) == (len(events), "")
    assert BASE not in whole.configs or whole.configs[BASE] == {"cpuManagerReconcilePeriod": "1s"}


def test_many_seeds_have_all_kinds_of_pods_devices_and_machines() -> None:
    """What the decisions that are compared with a real kubelet are about."""
    lives = [lived(seed) for seed in range(30)]
    pods = [pod["spec"] for history, _ in lives for pod in history.pods.values()]
    containers = [own for pod in pods for own in (*pod["containers"], *pod.get("initContainers", ()))]
    resources = [own["resources"] for own in containers]
    assert any(own.get("limits") and own["limits"] == own["requests"] for own in resources), "Guaranteed"
    assert any(own.get("requests") and own["requests"] != own.get("limits") for own in resources), "Burstable"
    assert any(not own for own in resources), "BestEffort"
    assert any(own.get("command") == ["exit-0"] for pod in pods for own in pod.get("initContainers", ())), "init"
    assert any(own.get("restartPolicy") == "Always" for own in containers), "sidecars"
    assert any("resources" in pod for pod in pods), "pod-level resources"
    assert {GPU, NIC, LATE, PAGES} <= {name for own in resources for name in own.get("limits", ())}
    assert any(sum(history.pages.values()) for history, _ in lives), "huge pages"
    assert {history.machine for history, _ in lives} == set(MACHINES)
    events = [event for _, own in lives for event in own]
    assert any(own.startswith("!") for event in events for own in event.get("devices", ())), "devices that fail"
    restarts = [event for event in events if event["op"] == "restart"]
    assert {event.get("plugins") for event in restarts} == {None, "late", "never"}
    assert {"reboot", "remove", "add", "config"} <= {word for event in restarts for word in event}


def test_many_seeds_have_all_events() -> None:
    words = {event["op"] for seed in range(20) for event in lived(seed)[1]}
    assert words == {
        *("add", "remove", "restart", "devices", "plugin-start", "plugin-restart", "plugin-stop"),
        *("resize", "exit", "node-capacity"),
    }
