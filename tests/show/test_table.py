"""Columns and sentences, and how they fit a screen."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.show.table import BAD, Screen, aligned, listed, matrix

ROWS = [("POD", "CPUS", "DEVICES"), ("default/train", "0-3,8-11", "GPU0, GPU1"), ("default/web", "shared", "-")]


def test_without_a_screen_a_row_is_a_line() -> None:
    assert aligned(ROWS).splitlines() == [
        "POD            CPUS      DEVICES",
        "default/train  0-3,8-11  GPU0, GPU1",
        "default/web    shared    -",
    ]


def test_cells_go_on_in_their_column() -> None:
    """The widest column gives first, and breaks at a blank or after a comma."""
    assert aligned(ROWS, screen=Screen(33)).splitlines() == [
        "POD            CPUS      DEVICES",
        "default/train  0-3,8-11  GPU0,",
        "                         GPU1",
        "default/web    shared    -",
    ]


def test_columns_without_a_place_stand_below_the_others() -> None:
    """Each behind its head; what is empty is left away."""
    assert aligned(ROWS, screen=Screen(24)).splitlines() == [
        "POD            CPUS",
        "default/train  0-3,8-11",
        "    DEVICES GPU0, GPU1",
        "default/web    shared",
    ]


def test_a_matrix_is_told_in_parts_that_each_have_the_first_column() -> None:
    rows = [("", "a", "b", "c"), ("a", "X", "1", "2"), ("b", "1", "X", "3")]
    assert matrix(rows, screen=Screen(8)) == "   a  b\na  X  1\nb  1  X\n\n   c\na  2\nb  3"


def test_what_is_said_of_a_name_goes_on_behind_the_longest() -> None:
    assert listed([("a", "one two three"), ("bcd", "four")], Screen(12)) == "a    one two\n     three\nbcd  four"


@pytest.mark.parametrize(
    ("line", "folded"),
    [
        ("pod: it does not fit", "pod: it does\n  not fit"),
        ("  - one two three", "  - one two\n    three"),
        ("  1. one two three", "  1. one two\n     three"),
        ("cpu  node 0, node 1", "cpu  node 0,\n     node 1"),
        ("0,1,2,3,4,5,6,7,8,9", "0,1,2,3,4,5,\n  6,7,8,9"),
        ("onelongwordwithoutend x", "onelongwordwithoutend\n  x"),
        ("  $ cp one two three", "  $ cp one two three"),
    ],
)
def test_a_sentence_goes_on_behind_its_indentation(line: str, folded: str) -> None:
    """A list of numbers breaks after a comma, any other word not at all, and no command that is to be copied."""
    assert Screen(12).folded(line) == folded


def test_colours_take_no_room() -> None:
    screen = Screen(80, coloured=True)
    assert aligned([("A", "B"), (screen.paint("no", BAD), "x")]) == "A   B\n\x1b[31mno\x1b[0m  x"


cells = st.text(st.sampled_from("ab0,- "), max_size=12).map(str.strip)


def pieces(text: str) -> Counter[str]:
    return Counter(piece for piece in re.findall(r"[^\s,;]+", text) if piece.strip("-"))


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=5), st.integers(1, 40))
def test_no_screen_loses_a_word(rows: list[tuple[str, str, str]], width: int) -> None:
    shown = pieces(aligned([("ONE", "TWO", "THREE"), *rows], screen=Screen(width)))
    assert pieces(" ".join(cell for row in rows for cell in row)) - shown == Counter()
