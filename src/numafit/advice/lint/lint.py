"""Lint: files in, findings out. A kubelet, pods and a device plugin that are given together are judged together."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, get_args

import msgspec

from numafit.advice.lint.findings import Finding, Position, Severity, edited, finding
from numafit.advice.lint.kubelet.kubelet import lint_kubelet
from numafit.advice.lint.kubelet.start import Checked
from numafit.advice.lint.kubelet.text import KubeletText
from numafit.advice.lint.pages import DocumentPart, LintPage, read_page
from numafit.advice.lint.plugin import daemon_findings, plugin_findings
from numafit.advice.lint.pod.environment import environment_findings
from numafit.advice.lint.pod.placement import Surroundings, init_findings, node_findings
from numafit.advice.lint.pod.qos import qos_findings
from numafit.advice.lint.pod.text import read_pod
from numafit.decision.stage import new_stage
from numafit.errors import InputError
from numafit.machine.model import Machine
from numafit.settings.gates import default_gates
from numafit.settings.versions import KubeVersion, behaviour_of

UNREADABLE = ("NF001", "NF002")


class LintFile(NamedTuple):
    name: str
    data: bytes
    named: bool = True
    """A person named this very file; others come from a folder, and may be about something else."""


class LintReport(msgspec.Struct, frozen=True):
    findings: tuple[Finding, ...]
    """By file in the order given, then by place."""
    fixed: dict[str, str]
    """Files that safe edits change, with their new text."""
    files: int
    """How many files had something to look at."""

    @property
    def unreadable(self) -> bool:
        return any(each.code in UNREADABLE for each in self.findings)

    @property
    def failed(self) -> bool:
        return any(each.severity != "info" for each in self.findings)

    @property
    def counts(self) -> dict[str, int]:
        """Of each severity, the worst first."""
        severities = [each.severity for each in self.findings]
        return {severity: severities.count(severity) for severity in get_args(Severity)}


def lint(sources: Sequence[LintFile], version: KubeVersion, machine: Machine | None = None) -> LintReport:
    pages: list[LintPage] = []
    found: list[Finding] = []
    for source in sources:
        try:
            page = read_page(source.data, source.name)
        except InputError as error:
            place = Position(source.name, error.line or 1, error.column or 1)
            found.append(finding("NF001", place, error.message, error.cure))
            continue
        pages.append(page)
        if page.empty and source.named:
            cure = (
                "lint reads kubelet configurations, flags in env files, pods, and NVIDIA's device plugin configuration"
            )
            found.append(finding("NF002", Position(source.name), "nothing in this file is known to lint", cure))
    checked = [lint_kubelet(text, version, machine) for text in _kubelets(pages)]
    for each in checked:
        found += each.findings
    around = _surroundings(checked, version, machine)
    for page in pages:
        for part in page.plugins:
            found += plugin_findings(part, around.static)
        for part in page.pods:
            found += _pod_findings(part, around)
    order = {source.name: index for index, source in enumerate(sources)}
    unique = {(each.code, each.place, each.message): each for each in found}
    findings = sorted(unique.values(), key=lambda each: (order.get(each.place.source, len(order)), *each.order))
    return LintReport(tuple(findings), _fixed(pages, findings), sum(not page.empty for page in pages))


def _kubelets(pages: Sequence[LintPage]) -> list[KubeletText]:
    """Flags override the configuration beside them when there is one of each; else everything stands for itself."""
    parts = [part for page in pages for part in page.kubelets]
    flags = [page.flags for page in pages if page.flags is not None and page.flags.arguments]
    if len(parts) == 1 and len(flags) == 1:
        return [KubeletText(parts[0], flags[0])]
    return [*(KubeletText(part, None) for part in parts), *(KubeletText(None, each) for each in flags)]


def _surroundings(checked: Sequence[Checked], version: KubeVersion, machine: Machine | None) -> Surroundings:
    """The node is known when one kubelet was given that would start."""
    known = checked[0] if len(checked) == 1 else Checked()
    stage = new_stage(known.start.started()) if known.start is not None else None
    return Surroundings(version, machine, known.settings, stage)


def _pod_findings(part: DocumentPart, around: Surroundings) -> Iterator[Finding]:
    if "kind" not in part.value:
        cure = "begin it with apiVersion: v1, kind: Pod and metadata with a name"
        yield finding("NF301", part.place(), "the object has no kind", cure)
    gates = around.settings.gates if around.settings is not None else default_gates(around.version)
    try:
        text = read_pod(part, pod_level=gates.get("PodLevelResources", False))
    except InputError as error:
        place = Position(error.source, error.line or 1, error.column or 1)
        field = f"{error.field}: " if error.field else ""
        yield finding("NF301", place, f"{field}{error.message}", error.cure)
        return
    if around.static is not False:
        yield from qos_findings(text, behaviour_of(around.version))
    yield from environment_findings(text)
    yield from init_findings(text, around)
    yield from daemon_findings(text, around.static)
    yield from node_findings(text, around)


def _fixed(pages: Sequence[LintPage], findings: Sequence[Finding]) -> dict[str, str]:
    fixed = {}
    for page in pages:
        edits = [each.edit for each in findings if each.edit is not None and each.edit.place.source == page.name]
        text = edited(page.text, edits)
        if text != page.text:
            fixed[page.name] = text
    return fixed
