"""Go's old sort, as far as it can be told from the outside."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.golang.sort import _heap_sort, go_sort


@given(st.lists(st.integers(0, 40), max_size=120))
def test_a_proper_order_is_sorted(items: list[int]) -> None:
    """Go up to 1.18; more than 12 elements reach quicksort, more than 40 the median of nine."""
    expected = sorted(items)
    go_sort(items, lambda a, b: a < b)
    assert items == expected


@given(st.lists(st.integers(0, 40), max_size=60))
def test_the_heap_sort_sorts(items: list[int]) -> None:
    """Go up to 1.18 turns to it when quicksort goes too deep, which short lists never do."""
    expected = sorted(items)
    _heap_sort(items, lambda a, b: a < b, 0, len(items))
    assert items == expected


def test_what_is_no_order_keeps_part_of_the_start() -> None:
    """Kubelet 1.20: "fewer free cores or lower id" with 13 free cores on socket 0 and 11 on socket 1."""
    cores = {0: 13, 1: 11}
    results = []
    for start in ([0, 1], [1, 0]):
        go_sort(start, lambda a, b: cores[a] < cores[b] or a < b)
        results.append(start)
    assert results == [[1, 0], [0, 1]]


def test_equal_elements_are_not_kept_in_place() -> None:
    """Go up to 1.18: the pass with gap six makes the sort of seven elements unstable."""
    items = [(1, "a"), (0, "b"), (0, "c"), (0, "d"), (0, "e"), (0, "f"), (0, "g")]
    go_sort(items, lambda a, b: a[0] < b[0])
    assert [name for _, name in items] == ["g", "b", "c", "d", "e", "f", "a"]


def test_ties_come_out_as_go_leaves_them() -> None:
    """Go 1.17, result of its own code: 44 elements reach the median of nine and the count of equal elements."""
    items = list(range(44))
    go_sort(items, lambda a, b: 2 * a % 23 < 2 * b % 23)
    first = [0, 23, 12, 35, 1, 24, 13, 36, 25, 2, 14, 37, 26, 3, 38, 15, 27, 4, 16, 39, 28, 5, 40, 17, 6, 29, 41, 18]
    assert items == [*first, 30, 7, 19, 42, 8, 31, 43, 20, 32, 9, 21, 10, 33, 22, 11, 34]


def test_a_relation_that_is_no_order_comes_out_as_go_leaves_it() -> None:
    """Go 1.17, result of its own code: one smaller entry of two is enough, as in the kubelet's comparison of cores."""
    items = list(range(30))
    go_sort(items, lambda a, b: a * a % 11 < b * b % 11 or a % 2 < b % 2)
    first = [22, 0, 11, 10, 12, 16, 6, 28, 23, 21, 1, 17, 5, 27, 20, 2, 24, 18]
    assert items == [*first, 26, 4, 13, 9, 7, 15, 29, 14, 8, 25, 3, 19]
