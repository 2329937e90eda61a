"""The shapes of the answers to questions, for the OpenAPI document; a test holds each against real answers.

The rooms above make these answers as records of the command line (`-o json`). Where a record goes deep into the
managers (hints, plugin calls), its inner shape is that of the recordings and is left open here.
"""

from typing import Any

import msgspec

from numafit.advice.compare import Difference, RuleChange
from numafit.advice.fit import Left, Limit
from numafit.advice.logs.loops import RecreateLoop
from numafit.decision.story import Chapter
from numafit.show.records.ledger import LedgerView
from numafit.show.records.settings import Resolved
from numafit.show.records.walk import Walk

OpenRecord = dict[str, Any]


class MemoryBlock(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    numa_affinity: tuple[int, ...]
    type: str
    size: int


class Free(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What is left of one NUMA node."""

    numa_node: int
    cpus: str
    memory: tuple[MemoryBlock, ...]
    devices: dict[str, tuple[str, ...]]


class Simulated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One decision. `merges`, `pluginCalls` and `containers` read as in a recording; `files` are state files."""

    pod: str
    qos: str
    uid: str
    admitted: bool
    merges: tuple[OpenRecord, ...] | None
    defaultCPUSet: str
    files: dict[str, str] = {}
    """Not in a what-if."""
    reason: str = ""
    message: str = ""
    panic: str = ""
    pluginCalls: tuple[OpenRecord, ...] = ()
    containers: dict[str, OpenRecord] = {}
    filesAfterStart: dict[str, str] = {}


class SimulateAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kubeVersion: str
    reservedCPUs: str
    decisions: tuple[Simulated, ...]
    left: tuple[Free, ...]


class StoryTold(msgspec.Struct, frozen=True):
    sentence: str
    chapters: tuple[Chapter, ...]


class Explained(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    admitted: bool
    reason: str
    message: str
    story: StoryTold


class ExplainAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stories: tuple[Explained, ...]


class Proposed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: str
    text: str
    aligned: bool
    removes: tuple[str, ...]
    rejects: tuple[str, ...]
    then: tuple[OpenRecord, ...]
    patches: str | None
    patch: OpenRecord | None


class Advised(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    fault: str
    why: str
    now: OpenRecord
    proposals: tuple[Proposed, ...]


class AdviseAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    advice: tuple[Advised, ...]


class Counted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    admitted: int
    aligned: int
    reason: str
    message: str
    limits: tuple[Limit, ...]
    wouldFitUnaligned: int


class VariantCounted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    policy: str
    scope: str
    option: str
    current: bool
    problem: str
    shapes: tuple[Counted, ...] = ()
    stranded: tuple[Left, ...] = ()


class FitAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`shapes` and `stranded`; with `compare` instead `variants`."""

    shapes: tuple[Counted, ...] = ()
    stranded: tuple[Left, ...] = ()
    variants: tuple[VariantCounted, ...] = ()


class PodCompared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    admitted: tuple[bool | None, bool | None]
    differences: tuple[Difference, ...]


class CompareAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the right kubelet would not start, `starts` is false and only `message` says more."""

    starts: bool
    message: str = ""
    changed: int = 0
    pods: tuple[PodCompared, ...] = ()
    settings: tuple[Difference, ...] = ()
    rules: tuple[RuleChange, ...] = ()


class Found(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: str
    severity: str
    file: str
    line: int
    column: int
    message: str
    cure: str
    fixable: bool
    manual: str = ""


class LintAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    findings: tuple[Found, ...]
    files: int
    counts: dict[str, int]


class LogAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lines: int
    admitted: int
    rejected: int
    unknown: int
    kubelets: tuple[OpenRecord, ...]
    stories: tuple[OpenRecord, ...]
    notShown: int
    loops: tuple[RecreateLoop, ...]


class ChapterWalked(Chapter, frozen=True, kw_only=True):
    walk: Walk


class StoryWalked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sentence: str
    chapters: tuple[ChapterWalked, ...]


class ExplainedWalked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    admitted: bool
    reason: str
    message: str
    story: StoryWalked


class WhatIfAnswer(SimulateAnswer, frozen=True, forbid_unknown_fields=True, kw_only=True):
    stories: tuple[ExplainedWalked, ...]
    ledger: LedgerView
    settings: Resolved
    kubelet: str
    advice: AdviseAnswer | None
    adviceProblem: str = ""
