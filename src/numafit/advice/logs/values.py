"""Values in kubelet log lines: hints, hint lists and hint maps in the three ways that releases print them.

| release | a hint | no node in particular |
|---|---|---|
| 1.20, printf | `{01 true}` | `{<nil> true}` |
| 1.21 to 1.27, Go values | `{NUMANodeAffinity:01 Preferred:true}` | `{NUMANodeAffinity:<nil> Preferred:true}` |
| 1.28 on, JSON | `{"NUMANodeAffinity":1,"Preferred":true}` | `{"NUMANodeAffinity":null,"Preferred":true}` |

The first two write the mask in binary, JSON as a decimal number. The first two write "no preference" and "cannot be
satisfied" alike, as an empty list; JSON tells them apart (`null` and `[]`).
"""

import re
from typing import TypeVar

import msgspec

from numafit.bits import CpusetError, parse_cpuset
from numafit.ledger.ledger import Hint
from numafit.managers.topology.hint import ProviderHints

T = TypeVar("T")

LARGEST_MASK = (1 << 64) - 1

_GO_HINT = re.compile(r"\{(?:NUMANodeAffinity:)?(<nil>|[01]{1,64}) (?:Preferred:)?(true|false)\}")
_GO_ENTRY = re.compile(r"([^\s\[\]{}:]+):\[((?:\{[^{}\[\]]*\} ?)*)\] ?")


class LogValueError(ValueError):
    """A value that no kubelet prints: the line was cut or is not the kubelet's."""


class _JsonHint(msgspec.Struct, frozen=True):
    affinity: int | None = msgspec.field(name="NUMANodeAffinity")
    preferred: bool = msgspec.field(name="Preferred")


_JSON_HINT = msgspec.json.Decoder(_JsonHint)
_JSON_MAP = msgspec.json.Decoder(dict[str, tuple[_JsonHint, ...] | None] | None)


def is_json(text: str) -> bool:
    """Is this hint or map of hints printed as JSON?"""
    return text.startswith(('{"', "{}", "null"))


def parse_hint(text: str) -> Hint:
    if text.startswith('{"'):
        return _hint(_decoded(_JSON_HINT, text))
    match = _GO_HINT.fullmatch(text)
    if match is None:
        raise LogValueError(text[:80])
    return _go_hint(match.group(1), match.group(2))


def parse_hint_map(text: str) -> ProviderHints:
    if not text.startswith("map["):
        listed = _decoded(_JSON_MAP, text)
        return None if listed is None else {resource: _hints(hints) for resource, hints in listed.items()}
    if not text.endswith("]"):
        raise LogValueError(text[-80:])
    hints: dict[str, tuple[Hint, ...]] = {}
    place, end = len("map["), len(text) - 1
    while place < end:
        match = _GO_ENTRY.match(text, place, end)
        if match is None:
            raise LogValueError(text[place : place + 80])
        hints[match.group(1)] = _go_hints(match.group(2))
        place = match.end()
    return hints


def parse_cpus(text: str) -> int:
    """`1-3`, and from 1.33 on `1-3 aligned=<uncore:true>`."""
    try:
        return parse_cpuset(text.partition(" ")[0])
    except CpusetError as error:
        raise LogValueError(text[:80]) from error


def _decoded(decoder: "msgspec.json.Decoder[T]", text: str) -> T:
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise LogValueError(text[:80]) from error


def _hints(listed: tuple[_JsonHint, ...] | None) -> tuple[Hint, ...] | None:
    return None if listed is None else tuple(_hint(hint) for hint in listed)


def _hint(hint: _JsonHint) -> Hint:
    if hint.affinity is not None and not 0 <= hint.affinity <= LARGEST_MASK:
        raise LogValueError(str(hint.affinity))
    return hint.affinity, hint.preferred


def _go_hints(text: str) -> tuple[Hint, ...]:
    found = tuple(_go_hint(mask, word) for mask, word in _GO_HINT.findall(text))
    if len(found) != text.count("{"):
        raise LogValueError(text[:80])
    return found


def _go_hint(mask: str, word: str) -> Hint:
    return None if mask == "<nil>" else int(mask, 2), word == "true"
