"""Which GPUs NVIDIA's plugin prefers, on the two boxes of the field reports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.machine.model import Link
from numafit.managers.nvidia import pair_scores, prefer_near

EIGHT = [str(i) for i in range(8)]


def kind(a: int, b: int) -> str:
    if a // 2 == b // 2:
        return "PIX"
    return "NODE" if a // 4 == b // 4 else "SYS"


SCORES = pair_scores([Link(str(a), str(b), kind(a, b)) for a in range(8) for b in range(a + 1, 8)], {})


@pytest.mark.parametrize(
    ("available", "size", "answer"),
    [
        (EIGHT, 1, "0"),
        (EIGHT, 2, "01"),
        (EIGHT, 3, "012"),
        (EIGHT, 4, "0123"),
        (EIGHT, 5, "01234"),
        (EIGHT, 6, "012345"),
        (EIGHT, 8, "01234567"),
        (EIGHT[1:], 2, "23"),
        (["0", "2", "4", "5"], 2, "45"),
    ],
)
def test_the_nearest_set_is_preferred(available: list[str], size: int, answer: str) -> None:
    """Pairs on one switch, then one NUMA node (k8s-device-plugin 0.20)."""
    assert prefer_near(available, frozenset(), size, SCORES) == tuple(answer)


def test_a_set_contains_what_it_must() -> None:
    assert prefer_near(EIGHT, frozenset({"6"}), 2, SCORES) == ("6", "7")


def test_two_gpus_of_three_come_from_one_numa_node() -> None:
    """The box of three P100: GPU 1 and 2 share a NUMA node."""
    scores = pair_scores([Link("0", "1", "SYS"), Link("0", "2", "SYS"), Link("1", "2", "NODE")], {})
    assert prefer_near(["0", "1", "2"], frozenset(), 2, scores) == ("1", "2")


def test_nvlinks_outweigh_the_pcie_tree() -> None:
    links = [Link("0", "1", "NV4"), Link("0", "2", "PIX"), Link("1", "2", "SYS")]
    scores = pair_scores(links, {"0": (0,), "1": (1,), "2": (0,)})
    assert scores[frozenset("01")] == 410
    assert prefer_near(["0", "1", "2"], frozenset(), 2, scores) == ("0", "1")


@given(st.sets(st.sampled_from(EIGHT)), st.integers(-1, 9), st.data())
def test_an_answer_has_the_wanted_size_or_is_empty(available: set[str], size: int, data: st.DataObject) -> None:
    must = data.draw(st.sets(st.sampled_from(sorted(available)))) if available else set()
    answer = prefer_near(sorted(available), frozenset(must), size, SCORES)
    possible = 0 < size <= len(available) and len(must) <= size
    assert len(answer) == (size if possible else 0)
    assert set(answer) <= available
    assert not possible or must <= set(answer)
