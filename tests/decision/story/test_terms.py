"""Amounts as people write them."""

import pytest

from numafit.decision.story.terms import amount_in_words, amounts_in_words

GI = 1 << 30


@pytest.mark.parametrize(
    ("resource", "amount", "words"),
    [
        ("cpu", 1, "1 CPU"),
        ("memory", 16 * GI, "16Gi"),
        ("memory", 8 * GI + 1024, "8388609Ki"),
        ("hugepages-2Mi", 4 << 20, "4Mi of hugepages-2Mi"),
        ("ephemeral-storage", 200 * GI, "200Gi of ephemeral-storage"),
        ("ephemeral-storage", 94992122800, "88.5Gi of ephemeral-storage"),
        ("ephemeral-storage", 1000, "1k of ephemeral-storage"),
        ("lab.io/gpu", 2, "2 lab.io/gpu"),
    ],
)
def test_bytes_have_units(resource: str, amount: int, words: str) -> None:
    """What a file system has is no whole number of any of them."""
    assert amount_in_words(resource, amount) == words


@pytest.mark.parametrize(
    ("resource", "amounts", "words"),
    [
        ("cpu", (1500, 1000), ["1500m CPUs", "1 CPU"]),
        ("ephemeral-storage", (200 * GI, 94992122800), ["200Gi", "88.5Gi"]),
        ("hugepages-1Gi", (2 * GI, GI, 2 * GI), ["2Gi", "1Gi", "2Gi"]),
        ("lab.io/gpu", (2, 1), ["2", "1"]),
    ],
)
def test_a_resource_is_named_once(resource: str, amounts: tuple[int, ...], words: list[str]) -> None:
    assert amounts_in_words(resource, amounts) == words


def test_sizes_that_would_read_alike_stand_in_full() -> None:
    """Else a pod would be refused 88.5Gi where 88.5Gi are left."""
    amounts = (94992122801, 94992122800)
    assert amounts_in_words("ephemeral-storage", amounts) == ["94992122801 bytes", "94992122800 bytes"]
