"""The engine stands for the kubelet here: what it does is seen as equal, and anything else is not."""

from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from numafit.cluster.node.compare import DecisionComparer, NodeLook, compared
from numafit.cluster.node.pods import NodePod
from numafit.cluster.node.process import RunningKubelet
from numafit.decision.files import state_files
from numafit.decision.life import reconcile, release
from numafit.decision.stage import Stage
from numafit.decision.start import again, start
from numafit.ledger.ledger import Held
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.managers.device.plugin import NVIDIA_GPU
from numafit.replay.replay import replay
from numafit.workload.pod import Pod
from tests.cluster.node.fakes import REFUSED, RUNNING, Json, node_pod
from tests.cluster.topology.nodes import guaranteed, stage_on, with_pods_on


def named(uid: str, cpus: int = 2, gpus: int = 0) -> Pod:
    return replace(guaranteed(uid, cpus, gpus=gpus), name=uid)


def seen(stage: Stage, statuses: Mapping[str, Json], pods: Mapping[str, Pod]) -> NodeLook:
    """As the agent sees a node whose kubelet stands like `stage`."""
    files = state_files(stage.node, stage.ledger)
    ledger = start(again(stage.node, files)).ledger
    served: dict[str, NodePod] = {uid: node_pod(pods[uid].name, uid, status=own) for uid, own in statuses.items()}
    active = {uid: pods[uid] for uid in statuses if served[uid].admitted and not served[uid].ended}
    return NodeLook(replace(stage, ledger=replace(ledger, active=active)), files, served, pods)


LookChange = Callable[[NodeLook], NodeLook]


@pytest.fixture
def idle() -> Stage:
    return stage_on("gpu8-128cpu")


PODS = {uid: named(uid) for uid in ("a", "b", "c")} | {"gpu": named("gpu", 4, 2)}


def test_what_the_engine_decides_is_equal(idle: Stage) -> None:
    after = with_pods_on(idle, PODS["a"], PODS["gpu"])
    base, now = seen(idle, {}, PODS), seen(after, {"a": RUNNING, "gpu": RUNNING}, PODS)
    verdict = compared(base, now, frozenset({"a", "gpu"}))
    assert (verdict.result, verdict.pods) == ("equal", ("team/a", "team/gpu"))


def test_one_that_held_its_share_before_the_api_server_told_of_it_is_not_compared(idle: Stage) -> None:
    """Its state file came first: how the node stood without it was not seen."""
    after = with_pods_on(idle, PODS["a"])
    base, now = seen(after, {}, PODS), seen(after, {"a": RUNNING}, PODS)
    verdict = compared(base, now, frozenset({"a"}))
    why = "team/a had its share before the API server told of it"
    assert (verdict.result, verdict.why) == ("not comparable", why)


def test_pods_of_one_moment_may_have_come_in_any_order(idle: Stage) -> None:
    after = with_pods_on(idle, PODS["c"], PODS["gpu"], PODS["a"])
    base, now = seen(idle, {}, PODS), seen(after, dict.fromkeys(("a", "c", "gpu"), RUNNING), PODS)
    assert compared(base, now, frozenset({"a", "c", "gpu"})).result == "equal"


def test_other_cpus_differ_and_the_case_replays_so(idle: Stage) -> None:
    after = with_pods_on(idle, PODS["a"], PODS["b"])
    base = seen(with_pods_on(idle, PODS["a"]), {"a": RUNNING}, PODS)
    now = seen(after, {"a": RUNNING, "b": RUNNING}, PODS)
    entries = after.ledger.cpu.entries
    moved = replace(after.ledger.cpu, entries={"a": entries["a"], "b": {"main": 3 << 20}}, file=None)
    files = state_files(idle.node, replace(after.ledger, cpu=moved))
    now = replace(now, files={**now.files, CPU_FILE: files[CPU_FILE]})
    verdict = compared(base, now, frozenset({"b"}))
    assert verdict.result == "differs"
    assert verdict.case is not None
    assert replay(verdict.case).verdict == "differs"


@pytest.mark.parametrize("name", [CPU_FILE, MEMORY_FILE, DEVICE_FILE])
def test_a_state_file_that_is_not_there_makes_nothing_equal(idle: Stage, name: str) -> None:
    """A folder that is not the kubelet's has none of them, and statuses alone show no places."""
    base, now = seen(idle, {}, PODS), seen(with_pods_on(idle, PODS["gpu"]), {"gpu": RUNNING}, PODS)
    left = {own: text for own, text in now.files.items() if own != name}
    verdict = compared(base, replace(now, files=left), frozenset({"gpu"}))
    assert verdict.result == "not comparable"
    assert name in verdict.why


def test_a_device_that_another_one_holds_is_not_given_as_expected(idle: Stage) -> None:
    """Which devices a kubelet gives is its choice, but not these."""
    pods = {**PODS, "more": named("more", 4, 2)}
    after = with_pods_on(idle, pods["gpu"], pods["more"])
    base = seen(with_pods_on(idle, pods["gpu"]), {"gpu": RUNNING}, pods)
    assert compared(base, seen(after, {"gpu": RUNNING, "more": RUNNING}, pods), frozenset({"more"})).result == "equal"
    device = after.ledger.device
    for given, why in (
        (device.held["gpu"], "nvidia.com/gpu GPU0 was given to team/more, and team/gpu holds it"),
        (
            {"main": {NVIDIA_GPU: Held({0: ("GPU6", "GPU7")}, frozenset(("GPU6", "GPU7")), b"")}},
            "nvidia.com/gpu GPU6 was given as one of NUMA node 0, where it is not",
        ),
    ):
        held = {**device.held, "more": given}
        other = replace(device, held=held, written=(held, device.healthy), file=None)
        now = seen(replace(after, ledger=replace(after.ledger, device=other)), {"gpu": RUNNING, "more": RUNNING}, pods)
        verdict = compared(base, now, frozenset({"more"}))
        assert (verdict.result, verdict.why) == ("differs", why)


def test_what_not_all_orders_were_tried_for_is_not_said_to_differ(idle: Stage) -> None:
    """Five pods of one moment, of which one was refused: one of 120 orders may have led to that."""
    pods = {f"p{number}": named(f"p{number}", number + 1) for number in range(5)}
    base = seen(idle, {}, pods)
    now = seen(with_pods_on(idle, *list(pods.values())[:4]), {**dict.fromkeys(pods, RUNNING), "p4": REFUSED}, pods)
    assert compared(base, now, frozenset(pods)).result == "not comparable"


def test_a_refusal_that_was_not_expected_differs(idle: Stage) -> None:
    base, now = seen(idle, {}, PODS), seen(idle, {"a": REFUSED}, PODS)
    verdict = compared(base, now, frozenset({"a"}))
    assert verdict.result == "differs"
    assert "admitted" in verdict.why


def test_one_that_went_may_have_gone_before_or_after(idle: Stage) -> None:
    """Its CPUs are taken by the next one where it had gone before."""
    first = with_pods_on(idle, PODS["a"])
    base = seen(first, {"a": RUNNING}, PODS)
    gone = replace(first, ledger=release(first.ledger, "a"))
    before = with_pods_on(gone, PODS["b"])
    both = with_pods_on(first, PODS["b"])
    after = replace(both, ledger=reconcile(both.node, release(both.ledger, "a")))
    assert before.ledger.cpu.entries != after.ledger.cpu.entries
    for stage in (before, after):
        assert compared(base, seen(stage, {"b": RUNNING}, PODS), frozenset({"b"})).result == "equal"


def test_nothing_is_said_where_many_came_and_went(idle: Stage) -> None:
    """The first of the new ones had ended before the second came, which then has its CPUs: that is not tried."""
    ended = {**RUNNING, "phase": "Succeeded"}
    first = with_pods_on(idle, PODS["a"])
    after = with_pods_on(replace(first, ledger=reconcile(first.node, release(first.ledger, "a"))), PODS["b"])
    verdict = compared(seen(idle, {}, PODS), seen(after, {"a": ended, "b": RUNNING}, PODS), frozenset({"a", "b"}))
    assert (verdict.result, verdict.why) == ("not comparable", "pods came and went in an order that nobody saw")


def test_one_of_the_same_name_is_another_pod(idle: Stage) -> None:
    """A StatefulSet makes its pod again by the same name."""
    again_named = replace(named("z"), name="a")
    pods = {**PODS, "z": again_named}
    first = with_pods_on(idle, PODS["a"])
    base = seen(first, {"a": RUNNING}, pods)
    after = with_pods_on(replace(first, ledger=release(first.ledger, "a")), again_named)
    assert compared(base, seen(after, {"z": RUNNING}, pods), frozenset({"z"})).result == "equal"


def of_a(status: Json) -> dict[str, NodePod]:
    return {"a": node_pod("a", "a", status=status)}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda now: replace(now, process=RunningKubelet(1, 2, ())), "started again"),
        (lambda now: replace(now, doubt="who knows"), "who knows"),
        (lambda now: replace(now, plugins=((1, 0, 7),)), "a device plugin"),
        (lambda now: replace(now, pods={}), "cannot be read"),
        (lambda now: replace(now, stage=replace(now.stage, config=stage_on("laptop").config)), "changed meanwhile"),
        (lambda now: replace(now, served=of_a({"phase": "Failed", "reason": "Taint"})), "Taint"),
        (lambda now: replace(now, served=of_a({**RUNNING, "conditions": [{"type": "PodResizePending"}]})), "resized"),
    ],
    ids=["restart", "doubt", "plugin", "unread", "settings", "other reason", "resize"],
)
def test_what_cannot_be_told_apart_is_not_compared(idle: Stage, change: LookChange, why: str) -> None:
    now = change(seen(with_pods_on(idle, PODS["a"]), {"a": RUNNING}, PODS))
    verdict = compared(seen(idle, {}, PODS), now, frozenset({"a"}))
    assert verdict.result == "not comparable"
    assert why in verdict.why


def test_who_came_and_went_between_two_looks_may_have_taken_anothers_place(idle: Stage) -> None:
    """One that was known before is another matter: it is played as one that went."""
    comparer = DecisionComparer()
    first = seen(with_pods_on(idle, PODS["a"]), {"a": RUNNING}, PODS)
    known = with_pods_on(replace(idle, ledger=release(first.stage.ledger, "a")), PODS["b"])
    comparer.look(first, 0.0)
    comparer.look(replace(seen(known, {"b": RUNNING}, PODS), left=frozenset({"a"})), 1.0)
    verdict = comparer.look(seen(known, {"b": RUNNING}, PODS), 2.0)
    assert verdict is not None
    assert verdict.result == "equal"

    both = seen(with_pods_on(known, PODS["gpu"]), {"b": RUNNING, "gpu": RUNNING}, PODS)
    comparer.look(replace(both, left=frozenset({"c"})), 3.0)
    verdict = comparer.look(both, 4.0)
    assert verdict is not None
    assert (verdict.result, verdict.why) == ("not comparable", "other pods came and went meanwhile")


def test_decisions_are_compared_when_all_is_quiet(idle: Stage) -> None:
    comparer = DecisionComparer()
    waiting = seen(idle, {"a": {}}, PODS)
    after = seen(with_pods_on(idle, PODS["a"]), {"a": RUNNING}, PODS)
    assert comparer.look(seen(idle, {}, PODS), 0.0) is None
    assert comparer.look(waiting, 1.0) is None
    assert comparer.look(after, 2.0) is None
    assert comparer.pending
    verdict = comparer.look(after, 3.0)
    assert verdict is not None
    assert verdict.result == "equal"
    assert comparer.look(after, 9.0) is None
    assert not comparer.pending


def test_who_is_not_decided_is_waited_for_but_not_for_ever(idle: Stage) -> None:
    comparer = DecisionComparer()
    comparer.look(seen(idle, {}, PODS), 0.0)
    both = seen(with_pods_on(idle, PODS["a"]), {"a": RUNNING, "b": {}}, PODS)
    assert comparer.look(both, 1.0) is None
    assert comparer.look(both, 5.0) is None
    verdict = comparer.look(both, 12.0)
    assert verdict is not None
    assert verdict.pods == ("team/a",)
