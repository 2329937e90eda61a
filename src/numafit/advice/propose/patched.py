"""A file with a patch of a proposal in it: the manifest that makes a pod, or the configuration of a kubelet.

Where the patch only changes values that stand there, only they are changed and all else stays as it was written. Else
the documents are written anew, which loses comments. Either way the result is read again before it is given.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from numafit.document import Document, Path, read_documents
from numafit.errors import InputError

Patch = Mapping[str, Any]
"""A merge patch; lists of it are merged by the `name` of their members."""

_SCALAR = re.compile(r"\"[^\"\\]*\"|'[^']*'|[^\s,\]}#&*!|>\"'][^,\]}#]*")


def patched_manifest(text: str, kind: str, namespace: str, name: str, patch: Patch) -> str:
    """Raises InputError where no object of the text is called so."""
    documents = read_documents(text, "pods")
    for number, document in enumerate(documents):
        for path, value in _objects(document.value):
            if _is_called(value, kind, namespace, name):
                return _patched(text, documents, number, path, _as_written(value, patch))
    raise InputError(f"there is no {kind} {namespace}/{name}", source="pods", cure="name one that stands there")


def patched_document(text: str, patch: Patch) -> str:
    """Of a text with one document."""
    documents = read_documents(text, "kubelet")
    if len(documents) != 1:
        raise InputError("is not one document", source="kubelet", cure="give one KubeletConfiguration")
    if not isinstance(documents[0].value, dict):
        raise InputError("is no mapping", source="kubelet", cure="give one KubeletConfiguration")
    return _patched(text, documents, 0, (), patch)


def merged(value: object, patch: object) -> object:
    """As kubectl merges: mappings by key, lists of named members by name; null takes away."""
    if isinstance(patch, Mapping):
        found = dict(value) if isinstance(value, dict) else {}
        for key, change in patch.items():
            if change is None:
                found.pop(key, None)
            else:
                found[key] = merged(found.get(key), change)
        return found
    if isinstance(patch, list) and _named(patch) and isinstance(value, list) and _named(value):
        found_list = list(value)
        names = [member["name"] for member in value]
        for member in patch:
            if member["name"] in names:
                place = names.index(member["name"])
                found_list[place] = merged(value[place], member)
            else:
                found_list.append(member)
        return found_list
    return patch


def _as_written(value: object, patch: Any) -> Any:
    """Without requests that nobody wrote and that equal the new limits: the API server fills them in."""
    if isinstance(patch, list) and isinstance(value, list) and _named(patch) and _named(value):
        there = {member["name"]: member for member in value}
        return [_as_written(there.get(member["name"]), member) for member in patch]
    if not isinstance(patch, Mapping) or not isinstance(value, dict):
        return patch
    own = {key: _as_written(value.get(key), change) for key, change in patch.items()}
    requests, limits, written = own.get("requests"), own.get("limits"), value.get("requests") or {}
    if isinstance(requests, Mapping) and isinstance(limits, Mapping) and isinstance(written, dict):
        kept = {name: much for name, much in requests.items() if name in written or limits.get(name) != much}
        own = {**own, "requests": kept} if kept else {key: part for key, part in own.items() if key != "requests"}
    return own


def _named(members: list[Any]) -> bool:
    return all(isinstance(member, dict) and "name" in member for member in members)


def _objects(value: object) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The objects of a document, those of a List too."""
    if not isinstance(value, dict):
        return
    items = value.get("items")
    if isinstance(items, list):
        for number, item in enumerate(items):
            if isinstance(item, dict):
                yield ("items", number), item
    yield (), value


def _is_called(value: dict[str, Any], kind: str, namespace: str, name: str) -> bool:
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or value.get("kind", "Pod") != kind:
        return False
    # A pod whose name the API server makes up has none in its manifest.
    return metadata.get("name", name) == name and (metadata.get("namespace") or "default") == namespace


def _patched(text: str, documents: list[Document], number: int, path: Path, patch: Patch) -> str:
    document = documents[number]
    values = [each.value for each in documents]
    values[number] = _with(document.value, path, patch)
    written = _rewritten(text, document, path, patch)
    if written is not None and _values(written) == values:
        return written
    return "---\n".join(yaml.safe_dump(value, sort_keys=False, width=1000) for value in values)


def _values(text: str) -> list[object] | None:
    try:
        return [each.value for each in read_documents(text, "pods")]
    except InputError:
        return None


def _with(value: object, path: Path, patch: object) -> object:
    if not path:
        return merged(value, patch)
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {**value, step: _with(value[step], rest, patch)}
    assert isinstance(value, list)
    return [_with(each, rest, patch) if place == step else each for place, each in enumerate(value)]


def _rewritten(text: str, document: Document, path: Path, patch: Patch) -> str | None:
    """With single values replaced where they stand; None where that does not do."""
    value: Any = document.value
    for step in path:
        value = value[step]
    lines = text.split("\n")
    for leaf, new in _leaves(value, patch):
        line, column = document.place((*path, *leaf)) if leaf is not None else (None, None)
        if line is None or column is None:
            return None
        row = lines[line - 1]
        found = _SCALAR.match(row, column - 1)
        if found is None:
            return None
        # Blanks before a comment are no part of the value.
        end = found.start() + len(found[0].rstrip())
        lines[line - 1] = f"{row[: found.start()]}{_written(new, row[column - 1])}{row[end:]}"
    return "\n".join(lines)


def _written(value: object, before: str) -> str:
    """In the quotes that stood there, and in some where YAML would read a number of a text."""
    if not isinstance(value, str):
        return str(value).lower()
    quote = before if before in "\"'" else "'" if re.fullmatch(r"[\d.eE+-]+", value) else ""
    return f"{quote}{value}{quote}"


def _leaves(value: object, patch: object, path: Path = ()) -> Iterator[tuple[Path | None, object]]:
    """The single values that the patch changes; a path of None: one that does not stand there, or is no single one."""
    if isinstance(patch, Mapping):
        for key, change in patch.items():
            there = value.get(key) if isinstance(value, dict) else None
            if there is None and change is None:
                continue
            if there is None or change is None:
                yield None, None
            elif there != change:
                yield from _leaves(there, change, (*path, key))
    elif isinstance(patch, list) and _named(patch) and isinstance(value, list) and _named(value):
        names = [member["name"] for member in value]
        for member in patch:
            if member["name"] not in names:
                yield None, None
                continue
            place = names.index(member["name"])
            yield from _leaves(value[place], member, (*path, place))
    elif isinstance(patch, str | int) and isinstance(value, str | int | float):
        yield path, patch
    else:
        yield None, None
