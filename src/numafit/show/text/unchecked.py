"""Checks that were not made, as text: one line for each group of values that they lack."""

from collections.abc import Iterable

from numafit.advice.inspection.checks import Unchecked

_WITHOUT = {"machine": "a machine (--machine)"}
"""Values that are given by an option."""


def unchecked_lines(unchecked: Iterable[Unchecked]) -> list[str]:
    """`Not checked without kubeReserved.cpu: whether …; whether …`, by what is missing."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for each in unchecked:
        groups.setdefault((each.file, each.because), []).append(each.text)
    several = len({file for file, _ in groups}) > 1
    return [
        f"{f'{file}: not' if several and file else 'Not'} checked without "
        f"{' and '.join(_WITHOUT.get(value, value) for value in because)}: {'; '.join(texts)}"
        for (file, because), texts in groups.items()
    ]
