"""Lines over time."""

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.show.html.graph import Dot, graph_text
from numafit.show.html.plot import HEIGHT, WIDTH, Curve, nice_top, plot_text


@pytest.mark.parametrize(
    ("most", "top"), [(0, 4), (1, 1), (3, 4), (4, 4), (5, 6), (48, 60), (97.5, 100), (160, 160), (2e9, 2e9), (0.3, 0.4)]
)
def test_a_scale_ends_at_a_number_that_reads_well(most: float, top: float) -> None:
    assert nice_top(most) == pytest.approx(top)


@given(st.floats(1e-6, 1e12))
def test_nothing_is_drawn_beyond_the_scale_and_a_third_of_it_is_used(most: float) -> None:
    assert most <= nice_top(most) <= most * 3


@given(st.lists(st.tuples(st.floats(0, 1e9), st.integers(0, 10**12)), max_size=20))
def test_whatever_is_drawn_is_xml_inside_its_box(points: list[tuple[float, int]]) -> None:
    ordered = tuple(sorted((moment, float(amount)) for moment, amount in points))
    root = ElementTree.fromstring(plot_text("Pods <waiting>", [Curve("a <b>", "least blind", ordered)]))
    assert root.attrib["viewBox"] == f"0 0 {WIDTH} {HEIGHT}"
    path = root.find("path")
    assert path is not None
    assert root.attrib["aria-label"].startswith("Pods <waiting>")
    numbers = path.attrib["d"].replace("M", " ").replace("H", " ").replace("V", " ").split()
    assert all(0 <= float(own) <= WIDTH for own in numbers)


def test_amounts_hold_until_they_change() -> None:
    text = plot_text("Pods <waiting>", [Curve("a", "numafit", ((0.0, 4.0), (50.0, 4.0), (100.0, 0.0)))], " %")
    assert 'd="M46.0 8.0H350.0V166.0H350.0"' in text
    assert "<title>a</title>" in text
    assert ">100 s</text>" in text
    assert ">4 %</text>" in text


def test_who_sees_no_curves_is_told_their_tops_and_ends() -> None:
    curves = [Curve('a, "blind"', "least", ((0.0, 1.0), (5.0, 12_000.0), (9.0, 3.5))), Curve("b", "most", ())]
    root = ElementTree.fromstring(plot_text("Waiting", curves, " %"))
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == 'Waiting: a, "blind" at most 12k %, 3.5 % at the end'
    assert ElementTree.fromstring(plot_text("Waiting", [])).attrib["aria-label"] == "Waiting"


def test_who_sees_no_dots_is_told_each_of_them() -> None:
    dots = [Dot(1, 5.0, "bad-dot", "1 node: 5.00% overdue"), Dot(2, 0.0, "good-dot", "2 nodes: 0.00% overdue")]
    root = ElementTree.fromstring(graph_text("Overdue", dots, 1.0, " %"))
    assert root.attrib["aria-label"] == "Overdue: 1 node: 5.00% overdue; 2 nodes: 0.00% overdue"
