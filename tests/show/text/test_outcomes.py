"""Other outcomes as a table: what could come out, and if what."""

import pytest

from numafit.decision.doubt.chance import others_of_run
from numafit.decision.doubt.other import Dependence
from numafit.managers.protocol import Draw, DrawKind
from numafit.show.text.outcomes import depends_in_words, outcomes_table
from tests.decision.doubt.test_orders import restarted, static


def test_what_comes_of_a_restart_is_told_together() -> None:
    simulation = restarted("5", static("a", "2"), static("b", "3"), static("c", "3"))
    assert outcomes_table(simulation, others_of_run(simulation, 5)).splitlines() == [
        "POD        COULD ALSO BE                                     IF",
        "(restart)  default/pod-c admitted: shared CPUs               default/pod-c is admitted before default/pod-b",
        "           default/pod-b rejected, UnexpectedAdmissionError",
        "           (these are all)",
    ]


@pytest.mark.parametrize(
    ("kind", "taken", "instead", "text"),
    [
        ("pods", "cab", "abc", "c is admitted before a"),
        ("pods", "bca", "abc", "a is admitted after c"),
        ("pods", "badc", "abcd", "static pods are admitted in the order b, a, d, c"),
        ("pods", "cbad", "abcd", "static pods are admitted in the order c, b, a"),
        ("resources", "ba", "ab", "b is served before a"),
        ("stale", "ba", "ab", "b is released before a"),
        ("nodes", "10", "01", "NUMA nodes are looked at in the order 1, 0"),
        ("cpus", "3", "2", "CPUs 3 are taken instead of 2"),
        ("victim", "x", "y", "x is evicted instead of y"),
        ("devices", "ac", "ab", "GPU3 is taken instead of b"),
        ("preferred", "cd", "ab", "GPU3, d are taken instead of a, b"),
    ],
)
def test_each_draw_has_its_words(kind: DrawKind, taken: str, instead: str, text: str) -> None:
    own = Dependence(Draw(kind), tuple(taken), tuple(instead))
    assert depends_in_words([own], {"c": "GPU3"} if kind in ("devices", "preferred") else {}) == text


def test_an_order_of_many_is_cut() -> None:
    names = tuple(f"p{number:02}" for number in range(20))
    words = depends_in_words([Dependence(Draw("pods"), names[::-1], names)], {})
    assert words.endswith("p08 and 8 more")
