"""A report of lint as JSON."""

from numafit.advice.lint.lint import LintReport
from numafit.advice.lint.manual import command_of


def lint_record(report: LintReport) -> dict[str, object]:
    found = [
        {
            "code": each.code,
            "severity": each.severity,
            "file": each.place.source,
            "line": each.place.line,
            "column": each.place.column,
            "message": each.message,
            "cure": each.cure,
            "fixable": each.edit is not None,
            "manual": command_of(each.code),
        }
        for each in report.findings
    ]
    return {"findings": found, "files": report.files, "counts": severity_counts(report)}


def severity_counts(report: LintReport) -> dict[str, int]:
    severities = [each.severity for each in report.findings]
    return {severity: severities.count(severity) for severity in ("error", "warning", "info")}
