"""Choices by their numbers, and what was chosen in place of what numafit chooses."""

from math import comb

from numafit.decision.doubt.other import Dependence
from numafit.decision.doubt.script import LastChoices, ScriptedChoices
from numafit.managers.protocol import Draw
from tests.decision.strategies import GPU, container, pod


def test_a_script_counts_through_all_choices() -> None:
    """Two draws: two of four devices, and one of two CPU sets."""
    tried = []
    script: list[int] | None = []
    while script is not None:
        choices = ScriptedChoices(script)
        devices = choices.devices("app", GPU, {"a", "b", "c", "d"}, 2)
        tried.append((tuple(devices), choices.cpus("app", iter([1, 2])), tuple(choices.resources("app", ["only"]))))
        script = choices.following()
    assert len(tried) == len(set(tried)) == comb(4, 2) * 2


def test_what_falls_otherwise_is_remembered_with_what_numafit_chooses() -> None:
    choices = ScriptedChoices([1, 0, 2, 1])
    assert choices.devices("app", GPU, {"a", "b"}, 1) == ("b",)
    assert choices.cpus("app", iter([1, 2])) == 1
    assert choices.victim(["old", "middle", "young"]) == "old"
    assert choices.nodes([1, 0]) == (1, 0)
    assert choices.depends == [
        Dependence(Draw("devices", "app", GPU, 2, 1), ("b",), ("a",)),
        Dependence(Draw("victim", candidates=3, count=1), ("old",), ("young",)),
        Dependence(Draw("nodes"), ("1", "0"), ("0", "1")),
    ]


def test_static_pods_come_in_the_order_that_is_given() -> None:
    """Those that it does not name come last, as they are."""
    one, two, three = (pod(uid, container("app")) for uid in ("a", "b", "c"))
    choices = ScriptedChoices(order=["c", "a"])
    assert choices.pods([one, two, three]) == [three, one, two]
    (depends,) = choices.depends
    assert (depends.draw.kind, depends.taken, depends.instead) == ("pods", ("c", "a", "b"), ("a", "b", "c"))
    assert choices.taken == []


def test_the_last_choice_of_an_order_is_the_reverse() -> None:
    one, two = (pod(uid, container("app")) for uid in ("a", "b"))
    choices = LastChoices()
    assert list(choices.pods([one, two])) == [two, one]
    assert choices.draws == [Draw("pods", candidates=2)]
