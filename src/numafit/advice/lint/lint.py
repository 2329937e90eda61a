"""Lint: files in, findings out. A kubelet, pods and a device plugin that are given together are judged together."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, get_args

import msgspec

from numafit.advice.inspection.checks import Unchecked
from numafit.advice.inspection.places import DocumentPart, Position
from numafit.advice.inspection.text import KubeletText
from numafit.advice.lint.findings import Finding, Severity, edited, finding
from numafit.advice.lint.kubelet.kubelet import lint_kubelet
from numafit.advice.lint.kubelet.start import Checked
from numafit.advice.lint.pages import DROP_IN_SUFFIX, LintPage, read_page
from numafit.advice.lint.plugin import daemon_findings, plugin_findings
from numafit.advice.lint.pod.environment import environment_findings
from numafit.advice.lint.pod.placement import Surroundings, init_findings, node_findings
from numafit.advice.lint.pod.qos import qos_findings
from numafit.advice.lint.pod.text import PodText, read_pods
from numafit.advice.lint.unknown import unknown_findings, unreadable_cure
from numafit.decision.doubt.assumed import check_notes
from numafit.decision.notes import pod_notes
from numafit.decision.stage import new_stage
from numafit.errors import InputError, some_of
from numafit.machine.model import Machine
from numafit.notes import Note
from numafit.settings.gates import default_gates
from numafit.settings.versions import KubeVersion, behaviour_of

UNREADABLE = ("NF001", "NF002")
MOST_LINES = 5
"""Of those that one note is about."""


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
    unchecked: tuple[Unchecked, ...] = ()
    """Checks that were not made, for each kubelet that was given."""
    notes: tuple[Note, ...] = ()
    """What was left out."""

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
            pages.append(read_page(source.data, source.name))
        except InputError as error:
            place = Position(source.name, error.line or 1, error.column or 1)
            found.append(finding("NF001", place, error.message, unreadable_cure(source.data, error.cure)))
    named = {source.name for source in sources if source.named}
    nothing = not any(page.understood for page in pages)
    for page in pages:
        if not page.understood and (page.name in named or nothing):
            found += unknown_findings(page)
        found += _further(page)
    checked = [lint_kubelet(text, version, machine) for text in _kubelets(pages, version)]
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
    return LintReport(
        tuple(findings),
        _fixed(pages, findings),
        sum(page.understood for page in pages),
        tuple(_unchecked(pages, checked, around)),
        (
            *_doubts(checked, around, [part for page in pages for part in page.pods]),
            *_notes(page for page in pages if page.understood or not (page.name in named or nothing)),
        ),
    )


def _doubts(checked: Sequence[Checked], around: Surroundings, parts: Sequence[DocumentPart]) -> Iterator[Note]:
    """What was guessed of the machine that everything here is checked against, and what its node does not look at."""
    if around.machine is None or not (around.machine.assumed or around.stage is not None):
        return
    pods = [text.pod for part in parts for text in _read(part, around) if isinstance(text, PodText)]
    node = around.stage.node if around.stage is not None else None
    notes = [check_notes(around.machine, each.config, node, pods) for each in checked if each.config is not None]
    yield from dict.fromkeys(note for own in notes for note in own)
    if around.stage is not None:
        yield from pod_notes(around.stage.node, around.stage.ledger, around.stage.allocatable, pods)


def _further(page: LintPage) -> Iterator[Finding]:
    """A file with several configurations: Go's YAML reader takes the first document and never looks for another."""
    own = [part for part in page.kubelets if not part.path and part.shift.line == 0]
    for part in own[1:]:
        message = "the kubelet reads the first document of its file only: this one has no effect"
        yield finding("NF205", part.place(), message, "put everything into one document")


def _kubelets(pages: Sequence[LintPage], version: KubeVersion) -> list[KubeletText]:
    """Flags override the configuration beside them when there is one of each, and files *.conf lie over it as drop-in
    files; else everything stands for itself."""
    parts = [part for page in pages for part in page.kubelets]
    flags = [page.flags for page in pages if page.flags is not None and page.flags.arguments]
    files = [page.kubelets[0] for page in pages if page.kubelets]
    main = [part for part in files if not part.document.source.endswith(DROP_IN_SUFFIX)]
    patches = [part for part in files if part.document.source.endswith(DROP_IN_SUFFIX)]
    if behaviour_of(version).drop_ins == "none":
        main, patches = files, []
    if len(main) != 1 or len(flags) > 1:
        return [*(KubeletText(part, None) for part in parts), *(KubeletText(None, each) for each in flags)]
    together = KubeletText(main[0], flags[0] if flags else None, tuple(patches))
    alone = [part for part in parts if part is not main[0] and part not in patches]
    return [together, *(KubeletText(part, None) for part in alone)]


def _unchecked(pages: Sequence[LintPage], checked: Sequence[Checked], around: Surroundings) -> Iterator[Unchecked]:
    for each in checked:
        yield from each.unchecked
    if any(page.pods for page in pages) and around.stage is None:
        missing = [*(("machine",) if around.machine is None else ())]
        if len(checked) != 1:
            missing.append("a kubelet configuration" if not checked else "one kubelet configuration")
        elif around.machine is not None:
            missing.append("a kubelet that starts")
        yield Unchecked("pods", "whether an idle node would admit the pods", tuple(missing))


def _notes(pages: Iterable[LintPage]) -> Iterator[Note]:
    for page in pages:
        if page.skipped:
            kinds = dict.fromkeys(part.what for part in page.skipped)
            text = ", ".join(f"{what} (line {_lines(page, what)})" for what in kinds)
            yield Note("kind-skipped", page.name, f"not looked at: {text}")


def _lines(page: LintPage, what: str) -> str:
    return some_of([str(part.place.line) for part in page.skipped if part.what == what], MOST_LINES)


def _surroundings(checked: Sequence[Checked], version: KubeVersion, machine: Machine | None) -> Surroundings:
    """The node is known when one kubelet was given that would start."""
    known = checked[0] if len(checked) == 1 else Checked()
    stage = new_stage(known.start) if known.start is not None else None
    return Surroundings(version, machine, known.settings, stage)


def _pod_findings(part: DocumentPart, around: Surroundings) -> Iterator[Finding]:
    if "kind" not in part.value:
        cure = "begin it with apiVersion: v1, kind: Pod and metadata with a name"
        yield finding("NF301", part.place(), "the object has no kind", cure)
    for text in _read(part, around):
        if isinstance(text, InputError):
            place = Position(text.source, text.line or 1, text.column or 1)
            field = f"{text.field}: " if text.field else ""
            yield finding("NF301", place, f"{field}{text.message}", text.cure)
            continue
        if around.static is not False:
            yield from qos_findings(text, behaviour_of(around.version))
        yield from environment_findings(text)
        yield from init_findings(text, around)
        yield from daemon_findings(text, around.static)
        yield from node_findings(text, around)


def _read(part: DocumentPart, around: Surroundings) -> Iterator[PodText | InputError]:
    gates = around.settings.gates if around.settings is not None else default_gates(around.version)
    return read_pods(part, pod_level=gates.get("PodLevelResources", False))


def _fixed(pages: Sequence[LintPage], findings: Sequence[Finding]) -> dict[str, str]:
    fixed = {}
    for page in pages:
        edits = [each.edit for each in findings if each.edit is not None and each.edit.place.source == page.name]
        text = edited(page.text, edits)
        if text != page.text:
            fixed[page.name] = text
    return fixed
