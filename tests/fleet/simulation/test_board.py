"""Scores that are kept as nodes change."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.fleet.simulation.board import DOES_NOT_FIT, ScoreBoard
from numafit.fleet.simulation.scores import SCORINGS
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.verdicts import shape_digest, tried
from tests.fleet.fleets import pod
from tests.fleet.simulation.nodes import idle, named

SCORING = SCORINGS["stock"]
SHAPES = [pod("small", "1"), pod("wide", "5"), pod("gpus", "2", gpus=2)]


def test_a_node_that_is_too_full_by_sums_has_no_score() -> None:
    board = ScoreBoard(named(2, idle()), SchedulerView(), SCORING)
    own = pod("all", "15")
    assert DOES_NOT_FIT not in board.points(own, shape_digest(own))
    after = tried(idle(), pod("there", "1"))[1]
    assert after is not None
    board.changed("n1", after)
    points = board.points(own, shape_digest(own))
    assert [own == DOES_NOT_FIT for own in points] == [False, True]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), max_size=8))
def test_kept_scores_are_those_of_a_new_board(steps: list[tuple[int, int, int]]) -> None:
    """Whatever changed in between, and whoever was asked for."""
    states = named(4, idle())
    view = SchedulerView()
    board = ScoreBoard(states, view, SCORING)
    for number, (place, comes, asked) in enumerate(steps):
        name = f"n{place}"
        after = tried(states[name], pod(f"p{number}", str(comes + 1)))[1]
        if after is not None:
            states[name] = after
            board.changed(name, after)
        own = SHAPES[asked]
        fresh = ScoreBoard(states, view, SCORING)
        assert board.points(own, shape_digest(own)) == fresh.points(own, shape_digest(own))
