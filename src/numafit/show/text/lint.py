"""The findings of lint as text, SARIF or annotations of a GitHub workflow."""

from urllib.parse import quote

from numafit import __version__
from numafit.advice.lint.findings import CODES, Finding
from numafit.advice.lint.lint import LintReport
from numafit.advice.lint.manual import page_of
from numafit.errors import shortened
from numafit.show.json import json_text

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def lint_text(report: LintReport) -> str:
    lines = []
    for each in report.findings:
        lines.append(f"{_where(each)}: {each.severity}: {each.code} {_one_line(each.message)}")
        if each.cure:
            lines.append(f"    cure: {_one_line(each.cure)}")
    return "\n".join([*lines, _summary(report)])


def lint_sarif(report: LintReport) -> str:
    used = sorted({each.code for each in report.findings})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code].title},
            "defaultConfiguration": {"level": _LEVELS[CODES[code].severity]},
            # The page itself: `helpUri` must be an absolute address, and there is none.
            "help": {"text": page_of(code), "markdown": page_of(code)},
        }
        for code in used
    ]
    results = [
        {
            "ruleId": each.code,
            "ruleIndex": used.index(each.code),
            "level": _LEVELS[each.severity],
            "message": {"text": f"{each.message} ({each.cure})" if each.cure else each.message},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(each.place.source)},
                        "region": {"startLine": each.place.line, "startColumn": each.place.column},
                    }
                }
            ],
        }
        for each in report.findings
    ]
    driver = {"name": "numafit", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json_text({"$schema": schema, "version": "2.1.0", "runs": [run]})


def lint_github(report: LintReport) -> str:
    lines = []
    for each in report.findings:
        level = "notice" if each.severity == "info" else each.severity
        place = each.place
        where = f"file={_property(place.source)},line={place.line},col={place.column},title={each.code}"
        message = f"{each.message} ({each.cure})" if each.cure else each.message
        lines.append(f"::{level} {where}::{_escaped(message)}")
    return "\n".join([*lines, _summary(report)])


def _where(each: Finding) -> str:
    return f"{each.place.source}:{each.place.line}:{each.place.column}"


def _summary(report: LintReport) -> str:
    files = f"{report.files} file{'s' * (report.files != 1)}"
    counts = [
        f"{count} {name}{'s' * (count != 1 and name != 'info')}" for name, count in report.counts.items() if count
    ]
    return f"{files} looked at: {', '.join(counts) or 'nothing found'}"


def _one_line(text: str) -> str:
    return shortened(" ".join(text.split("\n")))


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
