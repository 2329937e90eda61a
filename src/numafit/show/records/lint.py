"""A report of lint."""

from collections.abc import Mapping, Sequence

import msgspec

from numafit.advice.inspection.checks import Unchecked
from numafit.advice.lint.findings import Finding
from numafit.advice.lint.lint import LintReport
from numafit.advice.lint.manual import command_of
from numafit.notes import Note


class Found(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: str
    severity: str
    file: str
    line: int
    column: int
    message: str
    cure: str
    fixable: bool
    manual: str


class LintAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    findings: tuple[Found, ...]
    files: int
    counts: Mapping[str, int]
    unchecked: tuple[Unchecked, ...]
    """Checks that were not made, each with the values that were missing for it."""
    notes: tuple[Note, ...] = ()
    """What the answer stands on."""


def lint_record(report: LintReport, notes: Sequence[Note] = ()) -> LintAnswer:
    found = tuple([_found(each) for each in report.findings])
    return LintAnswer(found, report.files, report.counts, report.unchecked, tuple(notes))


def _found(finding: Finding) -> Found:
    return Found(
        finding.code,
        finding.severity,
        *finding.place,
        finding.message,
        finding.cure,
        finding.edit is not None,
        command_of(finding.code),
    )
