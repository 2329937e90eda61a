"""The decisions that are remembered."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from numafit.service.board import History, PastDecision
from numafit.show.records.agent import Summary

NOTHING = msgspec.Raw(b"null")


def history_of(verdicts: list[bool], most: int) -> History:
    history = History(most)
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
