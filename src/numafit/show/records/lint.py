"""A report of lint."""

from collections.abc import Mapping

import msgspec

from numafit.advice.lint.findings import Finding
from numafit.advice.lint.lint import LintReport
from numafit.advice.lint.manual import command_of


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


def lint_record(report: LintReport) -> LintAnswer:
    return LintAnswer(tuple([_found(each) for each in report.findings]), report.files, report.counts)


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
