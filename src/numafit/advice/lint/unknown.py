"""Files in which lint finds nothing that it knows: what they seem to be, and what to give instead."""

import re

from numafit.advice.inspection.places import Position
from numafit.advice.lint.findings import Finding, finding
from numafit.advice.lint.pages import LintPage
from numafit.errors import InputError
from numafit.machine.read.recognise import kind_of

KNOWN = "lint reads kubelet configurations, flags in env files, pods, and NVIDIA's device plugin configuration"

_TEMPLATE = re.compile(r"\{\{.*?\}\}", re.S)
_LOG = re.compile(r"^(?:.*kubelet\[\d+\]: |[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\.go:\d+\])", re.M)
_CHART = re.compile(r"^(?:name|version|appVersion):", re.M)
_HELM = "lint what the chart makes: helm template CHART | numafit lint -"
_KUSTOMIZE = "lint what it makes: kubectl kustomize FOLDER | numafit lint -"


def unknown_findings(page: LintPage) -> list[Finding]:
    """Of a file without anything to look at."""
    place = page.skipped[0].place if page.skipped else Position(page.name)
    text = page.text
    kinds = list(dict.fromkeys(part.kind for part in page.skipped if part.kind))
    if "Kustomization" in kinds:
        return [finding("NF002", place, "a Kustomization has no pods of its own", _KUSTOMIZE)]
    if kinds and all(part.kind for part in page.skipped):
        message = f"nothing here was looked at: kind {', '.join(kinds)} has no pods that lint knows"
        return [finding("NF004", place, message, "leave the file out, or see whether its pods are made elsewhere")]
    if not text.strip():
        return [finding("NF002", place, "the file is empty", KNOWN)]
    if page.flags is not None:
        return [finding("NF002", place, "no variable of this file begins with a flag", KNOWN)]
    if not page.skipped:
        return [finding("NF002", place, "there are only comments in this file", KNOWN)]
    what = ", ".join(dict.fromkeys(part.what for part in page.skipped))
    message = f"nothing in this file is known to lint: {what}"
    return [finding("NF002", place, message, hint_of(text) or KNOWN)]


def unreadable_cure(data: bytes, cure: str) -> str:
    """Of a file that is no YAML, JSON or environment file; `cure` is that of its reader."""
    if b"\0" in data:
        return f"this is no text; {KNOWN}"
    return hint_of(data.decode("utf-8", "replace")) or cure


def hint_of(text: str) -> str:
    """What to give instead, where the text shows what it is; empty where it does not."""
    if _TEMPLATE.search(text):
        return f"this looks like a template; {_HELM}"
    if _LOG.search(text):
        return "this looks like a kubelet's log: numafit explain --log FILE"
    if text.startswith("apiVersion: v") and _CHART.search(text):
        return _HELM
    try:
        kind = kind_of(text)
    except InputError:
        return ""
    return f"this looks like a machine ({kind}): give it by --machine"
