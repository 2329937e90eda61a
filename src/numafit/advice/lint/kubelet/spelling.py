"""Values of a kubelet configuration that are meant right and written wrong, and how to write them."""

import re
from collections.abc import Iterator

from numafit.advice.inspection.config import POLICIES, meant
from numafit.advice.inspection.places import Position
from numafit.advice.inspection.text import FLAG_OF, KubeletText, argument_place
from numafit.advice.lint.findings import Edit
from numafit.document import Path
from numafit.settings.read.decoder import known_fields
from numafit.settings.versions import KubeVersion

TEXTS = ("reservedSystemCPUs",)
"""Fields whose value must be a text, and is often a number."""
TEXT_MAPS = (
    "cpuManagerPolicyOptions",
    "topologyManagerPolicyOptions",
    "kubeReserved",
    "systemReserved",
    "evictionHard",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "evictionMinimumReclaim",
    "qosReserved",
)
"""Fields whose values must be texts: a bare `true` or `2` is none."""


def case_edits(text: KubeletText) -> Iterator[Edit]:
    for field in POLICIES:
        written = None if text.part is None or text.setting(field) is not text.part else text.part.value[field]
        if text.part is not None and not text.part.fixed and isinstance(written, str):
            right = meant(field, written)
            if right:
                yield _file_edit(text, (field,), written, right)
        yield from _flag_edits(text, field)


def quote_edits(text: KubeletText, version: KubeVersion) -> Iterator[tuple[Path, Edit]]:
    """In fields that the release knows, and so decodes. Only plain words whose meaning stays the same between quotes:
    `true`, `2`, but not `010` or `1e3`."""
    if text.part is None or text.part.fixed:
        return
    known = known_fields(version)
    for field in (*TEXTS, *TEXT_MAPS):
        values = text.part.value.get(field) if field in known else None
        if field in TEXTS:
            yield from _quotes(text, (field,), None if isinstance(values, bool) else values)
        for key, value in values.items() if isinstance(values, dict) else ():
            yield from _quotes(text, (field, key), value)


def _quotes(text: KubeletText, path: Path, value: object) -> Iterator[tuple[Path, Edit]]:
    if text.part is None or value is None or not isinstance(value, bool | int | float):
        return
    rows = _rows(text)
    place = text.part.place(path)
    row = rows[place.line - 1] if place.line <= len(rows) else ""
    word = re.match(r"[\w.+-]+", row[place.column - 1 :])
    if word is None:
        return
    plain = word.group()
    if isinstance(value, bool):
        yield path, Edit(place, plain, '"true"' if value else '"false"')
    elif str(value) == plain:
        yield path, Edit(place, plain, f'"{plain}"')


def _rows(text: KubeletText) -> list[str]:
    part = text.part
    if part is None:
        return []
    # An inner document is shown with the places of the outer one, but its own text starts at its own first line.
    return [""] * part.shift.line + [" " * part.shift.column + row for row in part.text.split("\n")]


def _file_edit(text: KubeletText, path: Path, old: str, new: str) -> Edit:
    place = text.part.place(path) if text.part is not None else Position(text.source)
    rows = _rows(text)
    row = rows[place.line - 1] if place.line <= len(rows) else ""
    quote = row[place.column - 1 : place.column]
    if quote and quote in "'\"":
        place = place._replace(column=place.column + 1)
    return Edit(place, old, new)


def _flag_edits(text: KubeletText, field: str) -> Iterator[Edit]:
    """Only `--flag=value` as it stands, once in its line."""
    if text.flags is None:
        return
    rows = text.flags.text.split("\n")
    for argument in text.arguments:
        name, equals, value = argument.text.partition("=")
        right = meant(field, value) if equals and name == f"--{FLAG_OF[field]}" else ""
        row = rows[(argument.line or 1) - 1]
        if right and row.count(argument.text) == 1:
            place = argument_place(text.flags, argument)
            yield Edit(place._replace(column=place.column + len(name) + 1), value, right)
