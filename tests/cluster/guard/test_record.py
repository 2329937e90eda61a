"""What is remembered of an owner, as a text of a ConfigMap."""

import pytest
from msgspec.structs import replace

from numafit.cluster.guard.record import LoopRecord, PodRejection, record_of, text_of
from tests.cluster.guard.looping import after

RECORD = LoopRecord(
    "ReplicaSet",
    "web-1",
    "team",
    "apps/v1",
    (PodRejection("u1", "n1", "TopologyAffinityError", after(0)),),
    rejected=7,
    held=after(1),
    last=after(2),
    tries=2,
    released=("u9",),
)


@pytest.mark.parametrize("armed", [True, False])
def test_a_record_comes_back_from_its_text(armed: bool) -> None:
    assert record_of(text_of(RECORD, armed=armed), after(10)) == RECORD


def test_the_first_word_tells_the_policy_whether_to_hold() -> None:
    assert text_of(RECORD, armed=True).startswith("hold {")
    assert text_of(RECORD, armed=False).startswith("count {")


@pytest.mark.parametrize(
    "text", ["", "true", "hold", "hold {", 'hold {"kind": 1}', "other {}", 'hold {"kind":"a","name":"b"}', "hold []"]
)
def test_what_is_no_record_is_none(text: str) -> None:
    """Whoever may write the ConfigMap can write anything."""
    assert record_of(text, after(0)) is None


def test_a_clock_that_was_ahead_holds_nobody_longer() -> None:
    late = replace(RECORD, last=after(100_000), held=after(100_000), tries=-3)
    found = record_of(text_of(late, armed=True), after(5))
    assert found is not None
    assert (found.last, found.held, found.tries) == (after(5), after(5), 0)
