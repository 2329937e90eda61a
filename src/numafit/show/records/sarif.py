"""A report of lint as SARIF 2.1.0, the format of code scanners; names and nesting are the standard's."""

from urllib.parse import quote

import msgspec

from numafit import __version__
from numafit.advice.lint.findings import CODES, Finding, Severity
from numafit.advice.lint.lint import LintReport
from numafit.advice.lint.manual import page_of

_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}


class SarifText(msgspec.Struct, frozen=True):
    text: str


class SarifPage(msgspec.Struct, frozen=True):
    text: str
    markdown: str


class SarifLevel(msgspec.Struct, frozen=True):
    level: str


class SarifRule(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    short_description: SarifText
    default_configuration: SarifLevel
    help: SarifPage
    """The page itself: `helpUri` must be an absolute address, and there is none."""


class SarifDriver(msgspec.Struct, frozen=True):
    name: str
    version: str
    rules: tuple[SarifRule, ...]


class SarifTool(msgspec.Struct, frozen=True):
    driver: SarifDriver


class SarifArtifact(msgspec.Struct, frozen=True):
    uri: str


class SarifRegion(msgspec.Struct, frozen=True, rename="camel"):
    start_line: int
    start_column: int


class SarifPlace(msgspec.Struct, frozen=True, rename="camel"):
    artifact_location: SarifArtifact
    region: SarifRegion


class SarifLocation(msgspec.Struct, frozen=True, rename="camel"):
    physical_location: SarifPlace


class SarifResult(msgspec.Struct, frozen=True, rename="camel"):
    rule_id: str
    rule_index: int
    level: str
    message: SarifText
    locations: tuple[SarifLocation, ...]


class SarifRun(msgspec.Struct, frozen=True, rename="camel"):
    tool: SarifTool
    column_kind: str
    results: tuple[SarifResult, ...]


class SarifLog(msgspec.Struct, frozen=True):
    schema: str = msgspec.field(name="$schema")
    version: str
    runs: tuple[SarifRun, ...]


def sarif_record(report: LintReport) -> SarifLog:
    used = sorted({each.code for each in report.findings})
    run = SarifRun(
        SarifTool(SarifDriver("numafit", __version__, tuple(_rule(code) for code in used))),
        "unicodeCodePoints",
        tuple(_result(each, used.index(each.code)) for each in report.findings),
    )
    return SarifLog("https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", (run,))


def _rule(code: str) -> SarifRule:
    page = page_of(code)
    level = SarifLevel(_LEVELS[CODES[code].severity])
    return SarifRule(code, SarifText(CODES[code].title), level, SarifPage(page, page))


def _result(each: Finding, rule: int) -> SarifResult:
    message = f"{each.message} ({each.cure})" if each.cure else each.message
    place = SarifPlace(SarifArtifact(quote(each.place.source)), SarifRegion(each.place.line, each.place.column))
    return SarifResult(each.code, rule, _LEVELS[each.severity], SarifText(message), (SarifLocation(place),))
