"""Plain values as YAML or JSON for people: one line per thing in a list, quotes only where they are needed."""

import json
import re
from collections.abc import Mapping

from numafit.document import resolved

WIDEST = 110
"""A line of YAML that would be longer is broken into one line per field."""

PlainMapping = Mapping[str, object]


def json_text(value: PlainMapping) -> str:
    lines = []
    for name, field in value.items():
        if isinstance(field, list):
            items = ",\n".join(f"    {json.dumps(item, ensure_ascii=False)}" for item in field)
            lines.append(f"  {json.dumps(name)}: [\n{items}\n  ]")
        else:
            lines.append(f"  {json.dumps(name)}: {json.dumps(field, ensure_ascii=False)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def yaml_text(value: PlainMapping) -> str:
    lines = []
    for name, field in value.items():
        if isinstance(field, list):
            lines.append(f"{name}:")
            lines += [line for item in field for line in _item(item)]
        elif isinstance(field, dict):
            lines.append(f"{name}:")
            for key, part in field.items():
                lines += _part(key, part)
        else:
            # outside of braces a comma is a character like any other
            plain = isinstance(field, str) and _is_plain(field, between=",")
            lines.append(f"{name}: {field if plain else flow_text(field)}")
    return "\n".join(lines) + "\n"


def _item(item: PlainMapping) -> list[str]:
    line = f"- {flow_text(item)}"
    if len(line) <= WIDEST:
        return [line]
    fields = [f"{key}: {flow_text(part)}" for key, part in item.items()]
    return [f"- {fields[0]}", *(f"  {field}" for field in fields[1:])]


def _part(key: str, part: object) -> list[str]:
    if isinstance(part, list) and any(isinstance(row, list) for row in part):
        return [f"  {key}:", *(f"  - {flow_text(row)}" for row in part)]
    return [f"  {key}: {flow_text(part)}"]


def flow_text(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow_text(key)}: {flow_text(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow_text(item) for item in value) + "]"
    if isinstance(value, str):
        return value if _is_plain(value) else _quoted(value)
    return json.dumps(value)


def _is_plain(text: str, between: str = "") -> bool:
    """Needs no quotes and is not taken for a number or a truth value; `between` are more characters that may occur."""
    word = rf"[A-Za-z0-9_./@(){between}-]+"
    return re.fullmatch(f"[A-Za-z0-9](?:{word})?(?: {word})*", text) is not None and isinstance(resolved(text), str)


def _quoted(text: str) -> str:
    """JSON's quotes, with all that YAML does not allow unescaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    return re.sub(r"[^\n\x20-\x7e\xa1-\ud7ff\ue000-\ufefe\uff01-\ufffd]", _escaped, quoted)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
