"""How a count of pods over all nodes reads."""

from numafit.fleet.look.capacity import FleetCount, NodeCount
from numafit.show.text.fleet.capacity import MOST_ROWS, capacity_text
from tests.fleet.fleets import pod


def test_the_total_comes_first_and_then_why_no_more() -> None:
    counts = (
        NodeCount(("a", "b", "c", "d"), 3, "OutOfcpu", "It is full."),
        NodeCount(("e",), 0, "X", "It is cordoned"),
    )
    assert capacity_text([FleetCount(pod("x"), counts)], [20], ["dark"]).split("\n") == [
        "default/pod-x: 12 more fit, on 4 nodes; 20 are asked for",
        "  EACH  NODES                      WHY NO MORE",
        "     3      4  a, b, c and 1 more  It is full.",
        "     0      1  e                   It is cordoned",
        "",
        "Nothing is known of 1 node: dark.",
    ]


def test_where_none_fits_that_is_said() -> None:
    text = capacity_text([FleetCount(pod("x"), (NodeCount(("a",), 0, "X", "no"),))], [1])
    assert text.startswith("default/pod-x: none fits\n")


def test_many_reasons_are_summed_up() -> None:
    counts = tuple(NodeCount((f"n{own}",), 30 - own, "X", f"why {own}") for own in range(20))
    text = capacity_text([FleetCount(pod("x"), counts)], [1])
    assert len(text.split("\n")) == MOST_ROWS + 2
    assert "11-19      9" in text
