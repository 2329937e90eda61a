"""The findings of lint as text, or as annotations of a GitHub workflow."""

from numafit.advice.lint.findings import Finding
from numafit.advice.lint.lint import LintReport
from numafit.errors import shortened
from numafit.show.table import PLAIN, SEVERITIES, Screen
from numafit.show.text.unchecked import unchecked_lines


def lint_text(report: LintReport, screen: Screen = PLAIN) -> str:
    lines = []
    for each in report.findings:
        severity = screen.paint(each.severity, SEVERITIES[each.severity])
        lines.append(f"{_where(each)}: {severity}: {each.code} {_one_line(each.message)}")
        if each.cure:
            lines.append(f"    cure: {_one_line(each.cure)}")
    return "\n".join([*lines, *unchecked_lines(report.unchecked), _summary(report)])


def lint_github(report: LintReport) -> str:
    lines = []
    for each in report.findings:
        level = "notice" if each.severity == "info" else each.severity
        place = each.place
        where = f"file={_property(place.source)},line={place.line},col={place.column},title={each.code}"
        message = f"{each.message} ({each.cure})" if each.cure else each.message
        lines.append(f"::{level} {where}::{_escaped(message)}")
    return "\n".join([*lines, *unchecked_lines(report.unchecked), _summary(report)])


def _where(each: Finding) -> str:
    return f"{each.place.source}:{each.place.line}:{each.place.column}"


def _summary(report: LintReport) -> str:
    files = f"{report.files} file{'s' * (report.files != 1)}" if report.files else "nothing"
    counts = [
        f"{count} {name}{'s' * (count != 1 and name != 'info')}" for name, count in report.counts.items() if count
    ]
    return f"{files} {'was ' * (not report.files)}looked at: {', '.join(counts) or 'nothing found'}"


def _one_line(text: str) -> str:
    return shortened(" ".join(text.split("\n")))


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
