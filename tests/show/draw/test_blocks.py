"""Lines, frames and columns of text."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.show.draw.blocks import NO_BREAK, UNICODE, framed, tiled, wrap


@given(text=st.text("ab, " + NO_BREAK, max_size=80), width=st.integers(4, 40))
def test_wrapped_lines_fit_and_lose_nothing_but_blanks(text: str, width: int) -> None:
    """Whatever the words are."""
    lines = wrap(text, width)
    assert all(len(line) <= width for line in lines)
    kept = "".join(lines).replace(" ", "")
    assert kept == text.replace(" ", "").replace(NO_BREAK, "")


def test_a_long_list_breaks_after_a_comma() -> None:
    """Not in the middle of a number."""
    assert wrap("CPUs 100-101,200-201,300-301", 16) == ["CPUs 100-101,", "  200-201,", "  300-301"]


def test_a_no_break_blank_holds_its_words_together() -> None:
    """`[0 64]` is never torn."""
    assert wrap(f"[0{NO_BREAK}64] [1{NO_BREAK}65]", 8) == ["[0 64]", "  [1 65]"]


def test_tiles_take_the_columns_that_make_them_lowest() -> None:
    """Four frames of three lines go side by side as long as each is wide enough."""
    makers = [lambda width: framed("a", ["x"], width, UNICODE)] * 4
    assert [len(tiled(makers, width, 10)) for width in (10, 25, 50)] == [12, 6, 3]


def test_frames_in_a_row_are_equally_high() -> None:
    """The lower one is stretched."""
    makers = [
        lambda width: framed("a", ["x"], width, UNICODE),
        lambda width: framed("b", ["x", "y", "z"], width, UNICODE),
    ]
    last = tiled(makers, 21, 10)[-1]
    assert last == "└────────┘ └────────┘"
