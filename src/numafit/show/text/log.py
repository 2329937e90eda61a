"""What a kubelet log tells of admissions, in a terminal."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from numafit.advice.logs.agreement import PodAgreement
from numafit.advice.logs.kubelet import LoggedKubelet
from numafit.advice.logs.loops import RecreateLoop
from numafit.advice.logs.report import Kept, LogReport
from numafit.advice.logs.story import LogStory, node_cpus, story_of_admission
from numafit.bits import cpuset_text
from numafit.machine.model import Machine
from numafit.show.table import BAD, GOOD, PLAIN, WARNING, Screen

WIDTH = 80
"""Where no screen says otherwise."""

Fold = Callable[..., str]


def report_text(
    report: LogReport,
    machine: Machine | None,
    compared: Sequence[PodAgreement] = (),
    *,
    everything: bool,
    screen: Screen = PLAIN,
) -> str:
    fold = partial(_wrapped, width=screen.width or WIDTH)
    parts = [_kubelet_text(kubelet, fold) for kubelet in report.kubelets.values() if _told_of(kubelet, report)]
    nodes = _nodes_text(report, machine, fold)
    if nodes and parts:
        parts[-1] += f"\n{nodes}"
    for kept in report.kept:
        kubelet = report.kubelet_of(kept.admission)
        parts.append(_admission_text(kept, story_of_admission(kept.admission, kubelet, machine), screen, fold))
    if report.not_kept:
        parts.append(fold(f"{report.not_kept} more admissions, different from these, are not shown."))
    parts += [_loop_text(loop, fold) for loop in report.loops]
    counts = f"{report.admitted} admitted, {report.rejected} rejected, {report.unknown} without an end in this log"
    hint = "" if everything or not (report.admitted or report.unknown) else " (--all tells all)"
    parts.append(fold(f"{report.lines} lines: {counts}{hint}"))
    if compared:
        parts.append(_compared_text(compared, screen, fold))
    return "\n\n".join(parts)


def _compared_text(compared: Sequence[PodAgreement], screen: Screen, fold: Fold) -> str:
    lines = ["The log and the prediction:"]
    for each in compared:
        if each.agrees is None:
            word, more = screen.paint("not told", WARNING), f"{each.logged}; predicted is {each.predicted}"
        elif each.agrees:
            word, more = screen.paint("agree", GOOD), each.predicted
        else:
            word, more = screen.paint("differ", BAD), "; ".join(each.differences)
        lines.append(fold(f"{each.pod}: {word}: {more}", "- ", "  "))
    return "\n".join(lines)


def _told_of(kubelet: LoggedKubelet, report: LogReport) -> bool:
    """Where a kubelet restarts in a loop, most of its processes have nothing to tell."""
    return len(report.kubelets) == 1 or any(kept.admission.kubelet.process == kubelet.process for kept in report.kept)


def _kubelet_text(kubelet: LoggedKubelet, fold: Fold) -> str:
    if kubelet.version is not None:
        release = f"{kubelet.version}"
    elif kubelet.first_minor == kubelet.last_minor:
        release = f"1.{kubelet.first_minor}, by the style of its lines"
    else:
        release = f"1.{kubelet.first_minor} to 1.{kubelet.last_minor}, by the style of its lines"
    policy = kubelet.policy or "not told (" + ", ".join(sorted(kubelet.policies)) + " are possible)"
    scope = kubelet.scope or "not told"
    return fold(f"Kubelet {kubelet.process}: release {release}; topology policy {policy}; scope {scope}.")


def _nodes_text(report: LogReport, machine: Machine | None, fold: Fold) -> str:
    cpus: Mapping[int, int] = {}
    for kubelet in report.kubelets.values():
        cpus = node_cpus(kubelet, machine) or cpus
    words = [f"node {node}: {f'CPUs {cpuset_text(own)}' if own else 'no CPUs'}" for node, own in sorted(cpus.items())]
    return fold(f"NUMA {'; '.join(words)}.") if words else ""


def _admission_text(kept: Kept, story: LogStory, screen: Screen, fold: Fold) -> str:
    admission = kept.admission
    verdict = {True: "admitted", False: f"rejected, {admission.reason or 'no reason told'}", None: "end not told"}
    colour = {True: GOOD, False: BAD, None: WARNING}[admission.admitted]
    lines = [f"{admission.pod}: {screen.paint(verdict[admission.admitted], colour)}"]
    where = f"{_seconds(admission.stamp)}, line {admission.line}"
    if admission.uid:
        where += f", UID {admission.uid}"
    lines.append(f"  {where}")
    if kept.times > 1:
        lines.append(f"  The same {kept.times} times, last at {_seconds(kept.last)}.")
    lines.append(fold(story.sentence, "  "))
    for chapter in story.chapters:
        lines += ["", f"  container {chapter.container}" if chapter.container else "  the pod as a whole"]
        width = max(len(resource) for resource in chapter.hints)
        for resource, words in chapter.hints.items():
            lines.append(fold(f"{resource.ljust(width)}  {words}", "    ", " " * (width + 6)))
        lines.append(fold(chapter.outcome, "    "))
    lines += [fold(doubt, "  ! ", "    ") for doubt in story.doubts]
    if admission.inferred:
        lines.append(fold("No line says so: after this merge nothing was stored.", "  "))
    elif admission.message:
        says = ": ".join(part for part in (admission.reason, admission.message) if part)
        lines.append(fold(f"The kubelet says: {says}", "  "))
    return "\n".join(lines)


def _loop_text(loop: RecreateLoop, fold: Fold) -> str:
    times = "once" if loop.rejections == 1 else f"{loop.rejections} times"
    speed = f", every {_duration(loop.period)}" if loop.period else ""
    text = (
        f"Recreate loop: {loop.pod} was rejected {times} ({loop.reason or 'no reason told'}) and came again "
        f"{loop.recreations} times{speed}, since {_seconds(loop.first)}"
    )
    if loop.ended:
        text += f", until it was admitted at {_seconds(loop.ended)}."
    else:
        text += f"; last seen at {_seconds(loop.last)}. Each new pod meets the same node in the same state. To stop it:"
    lines = [fold(text)]
    if not loop.ended:
        lines += [fold(way, "- ", "  ") for way in loop.ways_out]
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _seconds(stamp: str) -> str:
    return stamp.partition(".")[0]


def _wrapped(text: str, first: str = "", rest: str | None = None, *, width: int) -> str:
    indent = first if rest is None else rest
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
