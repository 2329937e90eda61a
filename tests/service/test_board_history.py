"""The decisions that are remembered."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from numafit.service.board import History, PastDecision
from numafit.show.records.agent import Summary

NOTHING = msgspec.Raw(b"null")


def history_of(verdicts: list[bool], most: int, first: int = 1) -> History:
    history = History(most)
    history.next_id = first
    for admitted in verdicts:
        number = history.next_id
        summary = Summary(number, "", f"default/pod-{number}", "pod", admitted, "", "", "", "", ())
        history.add(PastDecision(summary, NOTHING, NOTHING))
    return history


@given(
    st.lists(st.booleans(), max_size=40),
    st.integers(1, 30),
    st.integers(1, 7),
    st.sampled_from(["", "admitted", "rejected"]),
)
def test_pages_hold_what_is_remembered_once_newest_first(
    verdicts: list[bool], most: int, limit: int, verdict: str
) -> None:
    """Whatever the size of a page and the filter."""
    history = history_of(verdicts, most)
    expected = [
        number
        for number in range(len(verdicts), max(0, len(verdicts) - most), -1)
        if not verdict or verdicts[number - 1] == (verdict == "admitted")
    ]
    found: list[int] = []
    before: int | None = None
    while True:
        page = history.page(limit=limit, before=before, verdict=verdict)
        assert len(page.decisions) <= limit
        found += [summary.id for summary in page.decisions]
        before = page.next
        if before is None:
            break
    assert found == expected


def test_a_part_of_the_name_finds_pods() -> None:
    """Namespace or name."""
    history = history_of([True] * 12, 100)
    assert [one.id for one in history.page(limit=50, pod="pod-1").decisions] == [12, 11, 10, 1]


def test_ids_are_not_given_again_after_a_restart() -> None:
    """Whatever the clock says then, and however many the life before gave; a browser can still count with them."""
    given = [history_of([True] * 40, 10, History().next_id) for _ in range(20)]
    ids = {number for one in given for number in one.entries}
    assert len(ids) == 20 * 10
    assert max(ids) < 2**53
