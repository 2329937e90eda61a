"""Measures the rows of all `bench_*.py` modules, or of those whose name contains one of the given words.

CPU time, not wall time: other jobs on the machine then matter little. Of several batches the fastest counts.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from time import process_time

from bench import Row

BATCH_SECONDS = 0.05
BATCHES = 5


def modules(words: list[str]) -> Iterator[str]:
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        if not words or any(word in path.stem for word in words):
            yield path.stem


def seconds_per_call(row: Row) -> float:
    calls = 1
    while (taken := batch(row, calls)) < BATCH_SECONDS:
        calls *= 2
    return min([taken, *(batch(row, calls) for _ in range(BATCHES - 1))]) / calls


def batch(row: Row, calls: int) -> float:
    started = process_time()
    for _ in range(calls):
        row.run()
    return process_time() - started


def amount(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:.3f}"


def main(words: list[str]) -> int:
    """0 when each row keeps its budget; 1 otherwise, or when no module has such a name."""
    found = list(modules(words))
    if not found:
        print("bench: no benchmark has such a name" if words else "bench: there are no benchmarks yet")
        return 1 if words else 0
    slow = 0
    print(f"{'milliseconds of CPU time':60} {'numafit':>10} {'budget':>10} {'kubelet':>10}")
    for name in found:
        for row in import_module(f"bench.{name}").rows():
            seconds = seconds_per_call(row)
            over = row.budget is not None and seconds > row.budget
            slow += over
            mark = "  over budget" if over else ""
            print(
                f"{row.name:60} {amount(seconds):>10} {amount(row.budget):>10} {amount(row.kubelet):>10}{mark}",
                flush=True,
            )
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
