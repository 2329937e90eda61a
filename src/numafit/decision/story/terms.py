"""The terms of a story: amounts, NUMA nodes and containers as people write them."""

from collections.abc import Mapping, Sequence

from numafit.amounts import size_text
from numafit.bits import cpuset_text
from numafit.managers.ask import is_memory
from numafit.quantity import Quantity
from numafit.workload.pod import STORAGE

KI, MI = 1 << 10, 1 << 20


def nodes_in_words(mask: int) -> str:
    word = "node" if mask.bit_count() == 1 else "nodes"
    return f"{word} {cpuset_text(mask)}"


def container_in_words(container: str) -> str:
    """Empty where the pod is looked at as a whole."""
    return f"container {container}" if container else "the pod"


def amount_in_words(resource: str, amount: int, *, milli: bool = False) -> str:
    """`milli`: CPUs are counted in thousandths."""
    if resource == "cpu":
        number = str(Quantity(amount, -3, "DecimalSI")) if milli else str(amount)
        return f"{number} CPU" if number == "1" else f"{number} CPUs"
    if _is_bytes(resource):
        size = _size_in_words(amount)
        return f"{size} of {resource}" if resource != "memory" or not amount else size
    return f"{amount} {resource}"


def amounts_in_words(resource: str, amounts: Sequence[int]) -> list[str]:
    """Amounts beside which the resource is named, CPUs in thousandths; sizes in full where two would read alike."""
    if resource == "cpu":
        return [amount_in_words(resource, amount, milli=True) for amount in amounts]
    if not _is_bytes(resource):
        return [str(amount) for amount in amounts]
    sizes = [_size_in_words(amount) for amount in amounts]
    return sizes if len(set(sizes)) == len(set(amounts)) else [f"{amount} bytes" for amount in amounts]


def _is_bytes(resource: str) -> bool:
    return is_memory(resource) or resource == STORAGE


def _size_in_words(amount: int) -> str:
    """What a file system has is no whole number of any unit, and read in about three digits."""
    return size_text(amount) if amount % KI and amount >= MI else str(Quantity(amount, 0, "BinarySI"))


def needs_in_words(needs: Mapping[str, int | None] | Mapping[str, int]) -> str:
    return listed(
        [
            _unknown_amount(resource) if amount is None else amount_in_words(resource, amount)
            for resource, amount in needs.items()
        ],
        "and",
    )


def _unknown_amount(resource: str) -> str:
    if resource == "cpu":
        return "the CPUs"
    if resource == "memory":
        return "the memory"
    return f"the {resource} pages" if is_memory(resource) else f"the {resource} devices"


def listed(words: Sequence[str], joined: str) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {joined} {words[-1]}" if words else ""


def upper(text: str) -> str:
    return text[:1].upper() + text[1:]
