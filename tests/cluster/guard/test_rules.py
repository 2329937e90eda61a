"""When pods are held and when one is let go."""

from datetime import timedelta

import pytest

from numafit.cluster.guard.instructions import Explanation, HoldBegun, HoldEnded, Instruction, LetGo, Remember
from numafit.cluster.guard.patience import LONGEST_PATIENCE, patience
from numafit.cluster.guard.rules import MOST_HOLDS, LoopRules
from numafit.cluster.live.words import HOLD_GATE, PLACE_GATE
from tests.cluster.guard.looping import after, gated_pod, rejected_pod, running_pod


def reject(
    rules: LoopRules, name: str, seconds: float, owner: str = "loop", kind: str = "ReplicaSet"
) -> list[Instruction]:
    return rules.rejected(rejected_pod(name, owner, kind), after(seconds), after(seconds))


def looping(owner: str = "loop") -> LoopRules:
    """Held since the second 2."""
    rules = LoopRules()
    for second in range(3):
        reject(rules, f"{owner}-{second}", second, owner)
    return rules


def let_go(found: list[Instruction]) -> list[tuple[str, str]]:
    return [(own.pod.uid, own.cause) for own in found if isinstance(own, LetGo)]


def kinds(found: list[Instruction]) -> list[str]:
    return [type(own).__name__ for own in found]


def test_the_third_rejection_within_a_minute_begins_a_hold() -> None:
    rules = LoopRules()
    assert kinds(reject(rules, "a", 0)) == ["Remember", "Explanation"]
    assert kinds(reject(rules, "b", 30)) == ["Remember", "Explanation"]
    assert kinds(reject(rules, "c", 59)) == ["Remember", "Explanation", "HoldBegun"]
    assert rules.held == 1


def test_three_rejections_in_more_than_a_minute_are_no_loop() -> None:
    rules = LoopRules()
    for name, second in (("a", 0), ("b", 31), ("c", 62)):
        assert "HoldBegun" not in kinds(reject(rules, name, second))


def test_an_owner_is_armed_by_its_first_rejection() -> None:
    """Admission has to know of it before the fourth pod is made."""
    first = reject(LoopRules(), "a", 0)[0]
    assert isinstance(first, Remember)
    assert first.armed


def test_the_same_pod_counts_once() -> None:
    """A copy is listed again after a gap."""
    rules = LoopRules()
    reject(rules, "a", 0)
    assert reject(rules, "a", 1) == []


def test_a_pod_that_was_rejected_long_ago_does_not_count() -> None:
    assert LoopRules().rejected(rejected_pod("a"), after(0), after(61)) == []


@pytest.mark.parametrize("kind", ["DaemonSet", "Job", "Node", ""])
def test_what_waits_by_itself_or_is_made_once_is_explained_only(kind: str) -> None:
    rules = LoopRules()
    found = [own for second in range(5) for own in reject(rules, f"p{second}", second, kind=kind)]
    assert kinds(found) == ["Explanation"] * 5
    assert rules.records == {}


def test_a_loop_that_goes_on_is_explained_once_in_a_minute() -> None:
    """In a dry run nobody stops it."""
    rules = LoopRules()
    told = [
        second
        for second in range(130)
        if any(isinstance(own, Explanation) for own in reject(rules, f"p{second}", second))
    ]
    assert told == [0, 1, 2, 62, 122]


def test_a_pod_that_is_gated_before_there_is_a_loop_is_let_go_after_a_moment() -> None:
    """The rejection before it may be heard of later than the pod itself."""
    rules = LoopRules()
    reject(rules, "a", 0)
    assert rules.seen(gated_pod("b"), after(1)) == []
    assert rules.due(after(1.4)) == []
    assert let_go(rules.due(after(1.6))) == [("b", "doubt")]


def test_a_rejection_that_is_heard_of_late_keeps_the_pod() -> None:
    rules = LoopRules()
    reject(rules, "a", 0)
    reject(rules, "b", 1)
    rules.seen(gated_pod("d"), after(2))
    reject(rules, "c", 2.1)
    assert rules.due(after(3)) == []


def test_patience_grows_from_ten_seconds_to_fifteen_minutes() -> None:
    assert [patience(tries).total_seconds() for tries in (0, 1, 2, 6, 7, 1000)] == [10, 20, 40, 640, 900, 900]


def test_a_held_pod_is_tried_when_patience_has_run_out_and_the_next_waits_longer() -> None:
    rules = looping()
    rules.seen(gated_pod("d"), after(2))
    assert rules.due(after(11)) == []
    assert let_go(rules.due(after(12))) == [("d", "patience")]
    reject(rules, "d", 13)
    rules.seen(gated_pod("e"), after(13))
    assert rules.due(after(32)) == []
    assert let_go(rules.due(after(33))) == [("e", "patience")]


def test_of_several_pods_one_is_tried_at_a_time() -> None:
    rules = looping()
    for name in ("d", "e", "f"):
        rules.seen(gated_pod(name), after(2))
    assert let_go(rules.due(after(12))) == [("d", "patience")]
    assert rules.due(after(12.5)) == []


def test_where_every_node_is_known_to_refuse_only_the_longest_patience_tries() -> None:
    rules = looping()
    rules.seen(gated_pod("d"), after(2))
    assert rules.due(after(60), lambda _: True) == []
    late = 2 + LONGEST_PATIENCE.total_seconds()
    assert let_go(rules.due(after(late), lambda _: True)) == [("d", "patience")]


def test_a_pod_goes_at_once_when_the_engine_finds_a_node() -> None:
    rules = looping()
    rules.seen(gated_pod("d"), after(2))
    assert [pod.uid for pod in rules.hopeful()] == ["d"]
    found = rules.fits("d", ("n7", "n8"), after(3))
    assert next(own for own in found if isinstance(own, LetGo)).nodes == ("n7", "n8")
    assert list(rules.hopeful()) == []


def test_an_engine_that_was_wrong_is_not_believed_again() -> None:
    """So a loop ends even where the prediction is wrong."""
    rules = looping()
    rules.seen(gated_pod("d"), after(2))
    rules.fits("d", ("n7",), after(3))
    reject(rules, "d", 4)
    rules.seen(gated_pod("e"), after(4))
    assert list(rules.hopeful()) == []
    assert rules.fits("e", ("n7",), after(5)) == []
    assert let_go(rules.due(after(24))) == [("e", "patience")]


def test_a_pod_that_runs_ends_the_hold_where_no_other_one_waits() -> None:
    rules = looping()
    rules.seen(gated_pod("d"), after(2))
    rules.due(after(12))
    assert kinds(rules.seen(running_pod("d"), after(13))) == ["HoldEnded", "Remember"]
    assert rules.records == {}


def test_two_of_those_that_wait_follow_each_pod_that_runs() -> None:
    """Where there was room for one there may be none for all: they are not let go together. Each one counts once,
    however often it is seen to run."""
    rules = looping()
    for name in "defghi":
        rules.seen(gated_pod(name), after(2))
    assert let_go(rules.due(after(12))) == [("d", "patience")]
    assert kinds(rules.seen(running_pod("d"), after(13))) == ["Remember"]
    assert rules.seen(running_pod("d"), after(13)) == []
    assert let_go(rules.due(after(13))) == [("e", "running"), ("f", "running")]
    assert let_go(rules.due(after(14))) == []
    for name in "ef":
        rules.seen(running_pod(name), after(15))
    assert let_go(rules.due(after(15))) == [("g", "running"), ("h", "running"), ("i", "running")]
    assert kinds(rules.seen(running_pod("g"), after(16))) == ["HoldEnded", "Remember"]


def test_nobody_follows_where_one_that_followed_was_rejected_or_no_node_can_take_it() -> None:
    rules = looping()
    for name in "defgh":
        rules.seen(gated_pod(name), after(2))
    rules.due(after(12))
    rules.seen(running_pod("d"), after(13))
    assert let_go(rules.due(after(13), lambda _: True)) == []
    rules.seen(running_pod("x", made=13), after(14))
    assert let_go(rules.due(after(14))) == [("e", "running"), ("f", "running")]
    rules.seen(running_pod("e"), after(15))
    reject(rules, "f", 15)
    # Patience begins anew.
    assert let_go(rules.due(after(24))) == []
    assert let_go(rules.due(after(35))) == [("g", "patience")]


def test_a_pod_that_ran_before_the_rejections_says_nothing() -> None:
    rules = looping()
    assert rules.seen(running_pod("old", made=-100), after(5)) == []


def test_a_pod_that_was_made_after_the_rejections_and_runs_ends_the_count() -> None:
    rules = LoopRules()
    reject(rules, "a", 0)
    assert kinds(rules.seen(running_pod("b", made=5), after(6))) == ["Remember"]


def test_a_count_without_further_rejections_is_forgotten() -> None:
    rules = LoopRules()
    reject(rules, "a", 0)
    assert rules.due(after(60)) == []
    assert rules.due(after(61)) == [Remember("loop", None)]


def test_an_owner_that_makes_no_pod_any_more_is_forgotten() -> None:
    rules = looping()
    assert rules.due(after(300)) == []
    assert kinds(rules.due(after(303))) == ["HoldEnded", "Remember"]


def test_a_pod_with_our_gate_and_no_record_is_let_go() -> None:
    """Nobody else ever would."""
    assert let_go(LoopRules().seen(gated_pod("a"), after(0))) == [("a", "end")]
    assert let_go(LoopRules().seen(gated_pod("a", kind=""), after(0))) == [("a", "end")]


def test_a_pod_that_somebody_else_holds_back_waits_for_him() -> None:
    rules = looping()
    rules.seen(gated_pod("d", gates=("kueue.x-k8s.io/admission", HOLD_GATE)), after(2))
    assert rules.due(after(100)) == []
    rules.seen(gated_pod("d", gates=(PLACE_GATE, HOLD_GATE)), after(101))
    assert let_go(rules.due(after(101))) == [("d", "patience")]


def test_no_more_owners_are_held_than_the_bound() -> None:
    rules = LoopRules()
    for owner in range(MOST_HOLDS + 5):
        for second in range(3):
            reject(rules, f"{owner}-{second}", second, f"o{owner}")
    assert rules.held == MOST_HOLDS
    last = reject(rules, "again", 3, f"o{MOST_HOLDS + 4}")[0]
    assert isinstance(last, Remember)
    assert not last.armed


def test_switched_off_everything_is_let_go_and_forgotten() -> None:
    rules = looping()
    rules.seen(gated_pod("d"), after(2))
    found = rules.switched(False, after(3))
    assert kinds(found) == ["LetGo", "HoldEnded", "Remember"]
    assert kinds(reject(rules, "x", 4)) == ["Explanation"]
    assert let_go(rules.seen(gated_pod("y"), after(5))) == [("y", "end")]
    assert rules.switched(True, after(6)) == []
    assert "Remember" in kinds(reject(rules, "z", 7))


def test_a_namespace_that_leaves_takes_its_pods_along() -> None:
    rules = looping()
    rules.seen(gated_pod("d"), after(2))
    assert rules.left("other") == []
    assert kinds(rules.left("team")) == ["LetGo", "HoldEnded", "Remember"]


def test_a_new_guard_goes_on_where_the_old_one_was() -> None:
    """What is remembered is enough: patience, tries and rejections that were counted."""
    rules = looping()
    rules.seen(gated_pod("d"), after(2))
    rules.due(after(12))
    reject(rules, "d", 13)
    again = LoopRules(rules.records)
    assert reject(again, "d", 14) == []
    again.seen(gated_pod("e"), after(14))
    assert again.due(after(32)) == []
    assert let_go(again.due(after(33))) == [("e", "patience")]


def test_a_try_that_failed_while_no_guard_was_there_counts() -> None:
    rules = looping()
    rules.seen(gated_pod("d"), after(2))
    rules.due(after(12))
    again = LoopRules(rules.records)
    again.rejected(rejected_pod("d"), after(13), after(13) + timedelta(minutes=5))
    assert again.records["loop"].tries == 1


def steered(rules: LoopRules, seconds: float) -> LetGo:
    """The pod d, which a node can take."""
    (_, own) = rules.fits("d", ("n1",), after(seconds))
    assert isinstance(own, LetGo)
    return own


def test_a_pod_that_could_not_be_let_go_was_not_tried() -> None:
    """Patience counts on from where it was, and of the pod nothing is remembered."""
    rules = looping()
    rules.seen(gated_pod("d"), after(2))
    before = rules.records["loop"]
    own = steered(rules, 5)
    assert rules.records["loop"] != before
    assert rules.gated == 0
    assert kinds(rules.kept(own, gated_pod("d"), after(5), refused=False)) == ["Remember"]
    assert rules.records["loop"] == before
    assert [pod.uid for pod in rules.hopeful()] == ["d"]
    assert rules.fits("d", ("n1",), after(5.5)) == [], "not at once again"
    assert let_go(rules.due(after(12))) == [("d", "patience")]


def test_a_pod_whose_nodes_are_refused_twice_is_let_go_without_them() -> None:
    """Where much happens a node is found again and again, and each try would begin patience anew. Nothing was promised,
    so nobody is mistrusted when it is rejected."""
    rules = looping()
    rules.seen(gated_pod("d"), after(2))
    assert kinds(rules.kept(steered(rules, 3), gated_pod("d"), after(3), refused=True)) == ["Remember"]
    found = rules.kept(steered(rules, 4), gated_pod("d"), after(4), refused=True)
    assert let_go(found) == [("d", "engine")]
    assert [own.nodes for own in found if isinstance(own, LetGo)] == [()]
    record = rules.records["loop"]
    assert (record.released, record.foreseen) == (("d",), ())
    reject(rules, "d", 6)
    assert not rules.records["loop"].mistrusted


def test_one_that_cannot_be_let_go_at_all_is_tried_again_after_a_pause_that_grows() -> None:
    rules = looping()
    rules.seen(gated_pod("d"), after(2))
    tries, now = [], 3.0
    while now < 120:
        for own in rules.fits("d", ("n1",), after(now)):
            if isinstance(own, LetGo):
                tries.append(now)
                rules.kept(own, gated_pod("d"), after(now), refused=False)
        now += 0.25
    assert tries == [3, 4, 6, 10, 18, 34, 66]
    assert rules.records["loop"].released == ()


def test_one_whose_turn_it_was_to_follow_keeps_it() -> None:
    rules = looping()
    for name in "defg":
        rules.seen(gated_pod(name), after(2))
    rules.seen(running_pod("r", made=4), after(5))
    first, second = (own for own in rules.due(after(5)) if isinstance(own, LetGo))
    rules.kept(first, first.pod, after(5), refused=False)
    assert second.cause == "running"
    again = let_go(rules.due(after(7)))
    assert [cause for _, cause in again] == ["running"]


def test_one_that_nobody_is_at_any_more_is_found_again() -> None:
    """Older news of a pod that was let go say nothing; after a while they do."""
    rules = looping()
    rules.seen(gated_pod("d"), after(2))
    steered(rules, 3)
    rules.seen(gated_pod("d"), after(10))
    assert rules.gated == 0
    rules.seen(gated_pod("d"), after(40))
    assert rules.gated == 1


def test_a_loop_is_a_value_that_tells_itself() -> None:
    begun = [own for own in reject(looping(), "x", 3) if isinstance(own, HoldBegun | HoldEnded)]
    assert begun == []
    record = looping().records["loop"]
    assert (record.kind, record.name, record.namespace, record.rejected) == ("ReplicaSet", "loop", "team", 3)


def test_a_pod_that_is_made_without_the_gate_though_its_owner_is_held_is_told() -> None:
    """Admission may see something old; a pod that was made before it could know is no such."""
    rules = looping()
    assert "NotHeld" not in kinds(rules.rejected(rejected_pod("d", made=6), after(7), after(7)))
    assert "NotHeld" in kinds(rules.rejected(rejected_pod("e", made=8), after(8), after(8)))
