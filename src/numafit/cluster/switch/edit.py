"""`--set FIELD=VALUE`: the present configuration with some fields changed. Comments in it are lost."""

from collections.abc import Sequence

import msgspec

from numafit.document import read_documents
from numafit.errors import InputError, near_words
from numafit.settings.read.decoder import known_fields
from numafit.settings.versions import LATEST_PATCH, NEWEST_MINOR, KubeVersion
from numafit.show.json import yaml_text

GATES = "featureGates"
"""Of fields with fields in them the only one whose values are no texts."""


def with_changes(text: str, source: str, changes: Sequence[str]) -> str:
    """`FIELD=` removes one; `FIELD.NAME=VALUE` is about one entry of a field."""
    documents = read_documents(text, source)
    found = documents[0].value if documents else {}
    if not isinstance(found, dict):
        raise InputError("is no KubeletConfiguration", source=source)
    fields = dict(found)
    for change in changes:
        name, sign, value = change.partition("=")
        if not sign or not name:
            cure = "write it like cpuManagerPolicy=static"
            raise InputError("is not FIELD=VALUE", source=f"--set {change}", cure=cure)
        field, dot, entry = name.partition(".")
        if value:
            _refuse_unknown(field, change)
        if not dot:
            _set(fields, field, _value(value, change) if value else None)
            continue
        inner = fields.get(field) or {}
        if not isinstance(inner, dict):
            raise InputError(f"{field} has no entries in this file", source=f"--set {change}")
        inner = dict(inner)
        _set(inner, entry, (_value(value, change) if field == GATES else value) if value else None)
        fields[field] = inner
    return yaml_text(fields) + "\n"


def _refuse_unknown(field: str, change: str) -> None:
    """A kubelet would ignore it, and a node would be drained for nothing."""
    newest = KubeVersion(1, NEWEST_MINOR, LATEST_PATCH)
    known = sorted(known_fields(newest))
    if field not in known:
        near = near_words(field, known)
        cure = f"did you mean {' or '.join(near)}?" if near else "write a field of KubeletConfiguration"
        raise InputError("no kubelet knows this field", source=f"--set {change}", cure=cure)


def _set(fields: dict[str, object], name: str, value: object) -> None:
    if value is None:
        fields.pop(name, None)
    else:
        fields[name] = value


def _value(text: str, change: str) -> object:
    """What looks like JSON is that; everything else is a text."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        if text[0] in "[{":
            raise InputError("is no JSON", source=f"--set {change}", cure="quote names and texts in it") from None
        return text
