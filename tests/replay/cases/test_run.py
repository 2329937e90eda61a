"""The recording of a whole run: what is compared, and what is left to chance."""

from typing import Any

import pytest

from numafit.errors import InputError
from numafit.ledger.state_files import DEVICE_FILE
from numafit.replay.replay import compute, replay

MACHINE = {
    "numaNodes": [{"id": i, "memoryBytes": 4 << 30, "hugepages": {}, "distances": [10, 20]} for i in (0, 1)],
    "cpus": [{"cpu": i, "core": i // 2, "socket": i // 4, "numa": i // 4} for i in range(8)],
    "memoryBytes": 7 << 30,
}
CONFIG = {
    "cpuManagerPolicy": "static",
    "topologyManagerPolicy": "restricted",
    "memoryManagerPolicy": "Static",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
    "kubeReserved": {"cpu": "1", "memory": "1Gi"},
}
GPUS = [{"resource": "lab.io/gpu", "id": f"g{i}", "numa": [i // 2]} for i in range(4)]


def pod(name: str, cpu: str = "1", static: bool = False, **more: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "64Mi", **{key.replace("gpu", "lab.io/gpu"): own for key, own in more.items()}}
    container = {"name": "c", "requests": amounts, "limits": amounts}
    return {"uid": f"uid-{name}", "name": name, "containers": [container], "static": static}


def case(events: list[str], *pods: dict[str, Any], **more: Any) -> dict[str, Any]:
    content = {"machine": MACHINE, "config": CONFIG, "pods": list(pods), "events": events, **more}
    return {"kubeVersion": "v1.36.3", "family": "run", "input": content}


def decisions(computed: dict[str, Any]) -> list[list[tuple[str, str]]]:
    return [[(each["pod"], each["reason"]) for each in event["decisions"]] for event in computed["events"]]


def test_the_node_as_a_whole_is_checked() -> None:
    """Seven CPUs are allocatable, and memory is less than the NUMA nodes have together."""
    wanted = case(["add a", "add b"], pod("a", "4"), pod("b", "3500m"))
    computed = compute(wanted)
    assert decisions(computed) == [[("default/a", "")], [("default/b", "OutOfcpu")]]
    assert computed["events"][0]["allocatable"] == {"cpu": "7", "memory": "6Gi", "pods": "110"}
    assert replay(wanted | {"expect": computed}).verdict == "match"


def test_who_is_evicted_is_told_before_the_critical_pod() -> None:
    small = pod("a", "500m") | {"priority": 0}
    critical = pod("b", "500m") | {"priority": 2_000_000_000}
    computed = compute(case(["add a", "add b"], small, critical, config={"maxPods": 1}))
    told = [(each["pod"], each["kind"], each["admitted"]) for each in computed["events"][1]["decisions"]]
    assert told == [("default/a", "eviction", False), ("default/b", "admission", True)]


def test_what_the_node_offers_beside_its_machine_is_told() -> None:
    disk = pod("a") | {"containers": [{"name": "c", "requests": {"ephemeral-storage": "2Gi"}}]}
    refused = compute(case(["add a"], disk, allocatable={"ephemeral-storage": "1Gi"}))
    assert decisions(refused) == [[("default/a", "OutOfephemeral-storage")]]


def test_pods_that_are_there_hold_what_the_files_tell() -> None:
    first = compute(case(["add a"], pod("a", "2")))
    files = first["events"][0]["files"]
    there = case(["remove a", "add b"], pod("a", "2"), pod("b", "2"), residents=["uid-a"], initialFiles=files)
    assert compute(there)["events"][1]["decisions"][0]["containers"]["c"]["cpus"] == "2-3"


def test_another_of_equal_devices_is_another_order() -> None:
    """What becomes of it later depends on which was given: the replay follows the record."""
    plugins = [{"resource": "lab.io/gpu"}]
    events = ["add a", "devices lab.io/gpu g0@0,!g1@0,g2@1,g3@1", "restart", "add b", "add c"]
    wanted = case(events, pod("a", gpu="1"), pod("b", gpu="2"), pod("c", gpu="1"), devices=GPUS, plugins=plugins)
    computed = compute(wanted)
    device = computed["events"][0]["files"][DEVICE_FILE]
    assert '"DeviceIDs":{"0":["g0"]}' in device
    computed["events"][0]["files"] = {DEVICE_FILE: device.replace('["g0"]', '["g1"]')}
    # with g1 held by the first pod g0 is left for the third
    for event in computed["events"][1:]:
        event.pop("files")
    containers = computed["events"][0]["decisions"][0].pop("containers")
    assert containers["c"]["devices"] == {"lab.io/gpu": {"g0": [0]}}
    computed["events"][2] = {}
    computed["events"][3] = {}
    computed["events"][4] = {"decisions": [{"pod": "default/c", "kind": "admission", "admitted": True, "reason": ""}]}
    assert replay(wanted | {"expect": computed}).verdict == "other order"


def test_static_pods_come_back_in_an_order_that_explains_who_was_refused() -> None:
    """Seven CPUs are allocatable; after a restart with less, who comes first runs (1.36.3)."""
    fewer = {"file": '{"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1", "maxPods": 1}'}
    pods = [pod(name, "500m", static=True) for name in ("a", "b")]
    config = {"maxPods": 2}
    wanted = case(["add a", "add b", "restart config=fewer"], *pods, configs={"fewer": fewer}, config=config)
    computed = compute(wanted)
    first, second = computed["events"][2]["decisions"]
    assert (first["admitted"], second["admitted"]) == (True, False)
    turned = [
        first | {key: second[key] for key in ("admitted", "reason", "message")},
        second | {key: first[key] for key in ("admitted", "reason", "message")},
    ]
    expect = {"events": [{}, {}, {"decisions": turned}]}
    for each in turned:
        each.pop("containers", None)
    assert replay(wanted | {"expect": expect}).verdict == "other order"
    wrong = {"events": [{}, {}, {"decisions": [first, first | {"pod": "default/b"}]}]}
    assert replay(wanted | {"expect": wrong}).verdict == "differs"


def test_a_kubelet_that_does_not_start_says_why() -> None:
    wanted = case([], config=CONFIG | {"topologyManagerPolicy": "strict"})
    computed = compute(wanted)
    assert "strict" in computed["error"]["message"]
    assert replay(wanted | {"expect": computed}).verdict == "match"
    assert replay(wanted | {"expect": {"events": []}}).verdict == "differs"


def test_nothing_is_compared_after_an_event_that_was_not_looked_at() -> None:
    assert replay(case(["add a", "remove a"], pod("a")) | {"expect": {"events": [None, {}]}}).verdict == "match"
    found = replay(case(["add a"], pod("a")) | {"expect": {"events": []}})
    assert (found.verdict, str(found.difference)) == ("differs", "/events\n  expected 0\n  actual   1")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (case([], pod("a")), "no event adds default/a"),
        (case(["restart config=x"]), "there is no configuration x"),
        (case(["sleep"]), '"sleep" is no event'),
        ({"kubeVersion": "v1.36.3", "family": "run", "input": {"machine": MACHINE}}, "missing required field `events`"),
    ],
)
def test_an_input_of_another_form_gets_a_sentence(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compute(wrong)
