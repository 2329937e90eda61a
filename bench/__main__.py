"""Measures the rows of all `bench_*.py` modules, or of those whose name contains one of the given words.

CPU time, not wall time: other jobs on the machine then matter little. Of several batches the fastest counts.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from time import process_time

from bench import TIMES_FASTER, Row

BATCH_SECONDS = 0.05
BATCHES = 7
LONG_SECONDS = 1.0
"""A row whose single call takes this long is measured once."""


def modules(words: list[str]) -> Iterator[str]:
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        if not words or any(word in path.stem for word in words):
            yield path.stem


def amount_of(row: Row) -> float:
    """Seconds per call, or what the row measured."""
    if row.measured:
        found = row.run()
        assert isinstance(found, float)
        return found
    # the first calls fill the tables that belong to the machine, not to the request
    row.run()
    calls = 1
    while (taken := batch(row, calls)) < BATCH_SECONDS:
        calls *= 2
    batches = 1 if taken > LONG_SECONDS else BATCHES
    return min([taken, *(batch(row, calls) for _ in range(batches - 1))]) / calls


def batch(row: Row, calls: int) -> float:
    started = process_time()
    for _ in range(calls):
        row.run()
    return process_time() - started


def shown(amount: float | None, unit: str) -> str:
    if amount is None:
        return ""
    return f"{amount * 1000:.4f}" if unit == "ms" else f"{amount:.2f} {unit}"


def line(row: Row, amount: float) -> str:
    faster = "" if row.kubelet is None else f"{row.kubelet / amount:.0f}x"
    numbers = f"{shown(amount, row.unit):>11} {shown(row.limit, row.unit):>11} {shown(row.kubelet, row.unit):>11}"
    return f"{row.name:72} {numbers} {faster:>9}  {verdict(row, amount)}".rstrip()


def verdict(row: Row, amount: float) -> str:
    if row.limit is None:
        return ""
    return "pass" if amount <= row.limit else "MISS"


def main(words: list[str]) -> int:
    """0 when each row keeps its budget; 1 otherwise, or when no module has such a name."""
    found = list(modules(words))
    if not found:
        print("bench: no benchmark has such a name" if words else "bench: there are no benchmarks yet")
        return 1 if words else 0
    missed = []
    print(
        f"Milliseconds of CPU time unless a unit is given. Budgets include: {TIMES_FASTER} times less than the kubelet."
    )
    for name in found:
        module = import_module(f"bench.{name}")
        print(f"\n{(module.__doc__ or name).partition(chr(10))[0]}")
        print(f"{'':72} {'numafit':>11} {'budget':>11} {'kubelet':>11} {'faster':>9}")
        for row in module.rows():
            amount = amount_of(row)
            print(line(row, amount), flush=True)
            if verdict(row, amount) == "MISS":
                missed.append(row.name)
    print(f"\n{len(missed)} over budget" + "".join(f"\n  {name}" for name in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
