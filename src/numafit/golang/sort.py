"""Go's `sort.Slice` up to Go 1.18, step by step.

The kubelet up to 1.21 sorts by relations that are no order, so the outcome is whatever this algorithm makes of them.
It works in place: quicksort with the pivot kept at the first position, heap sort when that goes too deep, and for
twelve elements or fewer one pass with gap six followed by insertion sort.
"""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
Less = Callable[[T, T], bool]


def go_sort(items: list[T], less: Less[T]) -> None:
    _quick_sort(items, less, 0, len(items), 2 * len(items).bit_length())


def _quick_sort(items: list[T], less: Less[T], low: int, high: int, depth: int) -> None:
    while high - low > 12:
        if depth == 0:
            _heap_sort(items, less, low, high)
            return
        depth -= 1
        left, right = _partition(items, less, low, high)
        if left - low < high - right:
            _quick_sort(items, less, low, left, depth)
            low = right
        else:
            _quick_sort(items, less, right, high, depth)
            high = left
    for i in range(low + 6, high):
        if less(items[i], items[i - 6]):
            _swap(items, i, i - 6)
    for i in range(low + 1, high):
        j = i
        while j > low and less(items[j], items[j - 1]):
            _swap(items, j, j - 1)
            j -= 1


def _swap(items: list[T], i: int, j: int) -> None:
    items[i], items[j] = items[j], items[i]


def _median_to_first(items: list[T], less: Less[T], x: int, y: int, z: int) -> None:
    if less(items[x], items[y]):
        _swap(items, x, y)
    if less(items[z], items[x]):
        _swap(items, z, x)
        if less(items[x], items[y]):
            _swap(items, x, y)


def _partition(items: list[T], less: Less[T], low: int, high: int) -> tuple[int, int]:
    """Returns (l, h): [low, l) is below the pivot, [l, h) equal to it, [h, high) above."""
    middle = (low + high) // 2
    if high - low > 40:
        step = (high - low) // 8
        _median_to_first(items, less, low, low + step, low + 2 * step)
        _median_to_first(items, less, middle, middle - step, middle + step)
        _median_to_first(items, less, high - 1, high - 1 - step, high - 1 - 2 * step)
    _median_to_first(items, less, low, middle, high - 1)

    pivot = items[low]
    a, c = low + 1, high - 1
    while a < c and less(items[a], pivot):
        a += 1
    b = a
    while True:
        while b < c and not less(pivot, items[b]):
            b += 1
        while b < c and less(pivot, items[c - 1]):
            c -= 1
        if b >= c:
            break
        _swap(items, b, c - 1)
        b += 1
        c -= 1

    many_equal = high - c < 5
    if not many_equal and high - c < (high - low) // 4:
        equal = 0
        if not less(pivot, items[high - 1]):
            _swap(items, c, high - 1)
            c += 1
            equal += 1
        if not less(items[b - 1], pivot):
            b -= 1
            equal += 1
        if not less(items[middle], pivot):
            _swap(items, middle, b - 1)
            b -= 1
            equal += 1
        many_equal = equal > 1
    if many_equal:
        while True:
            while a < b and not less(items[b - 1], pivot):
                b -= 1
            while a < b and less(items[a], pivot):
                a += 1
            if a >= b:
                break
            _swap(items, a, b - 1)
            a += 1
            b -= 1
    _swap(items, low, b - 1)
    return b - 1, c


def _heap_sort(items: list[T], less: Less[T], low: int, high: int) -> None:
    count = high - low
    for root in range((count - 1) // 2, -1, -1):
        _sift_down(items, less, root, count, low)
    for last in range(count - 1, -1, -1):
        _swap(items, low, low + last)
        _sift_down(items, less, 0, last, low)


def _sift_down(items: list[T], less: Less[T], root: int, count: int, low: int) -> None:
    while (child := 2 * root + 1) < count:
        if child + 1 < count and less(items[low + child], items[low + child + 1]):
            child += 1
        if not less(items[low + root], items[low + child]):
            return
        _swap(items, low + root, low + child)
        root = child
