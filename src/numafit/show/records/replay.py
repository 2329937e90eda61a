"""What became of recorded cases: each one computed, and all of them counted."""

from collections.abc import Mapping
from typing import Any

import msgspec


class CaseComputed(msgspec.Struct, frozen=True, rename="camel"):
    """One line of `numafit replay --out`."""

    id: str
    kube_version: str
    family: str
    actual: Any
    """In the schema of the recording's `expect`, of which each family has its own."""


class FamilyCounted(msgspec.Struct, frozen=True, rename="camel"):
    kube_version: str
    family: str
    cases: int
    verdicts: Mapping[str, int]


class CaseDiffers(msgspec.Struct, frozen=True, rename="camel"):
    kube_version: str
    family: str
    id: str
    difference: str


class ReplaySummary(msgspec.Struct, frozen=True):
    families: tuple[FamilyCounted, ...]
    differences: tuple[CaseDiffers, ...]
