"""YAML and JSON documents as plain values, with the line and column of each of them.

The values are those that Kubernetes sees: scalars are resolved as in sigs.k8s.io/yaml (YAML 1.1, so a bare `no` is
false and `010` is 8), keys are texts, `<<` merges, and a key that stands twice is refused. The reader works on the
parser's events and never recurses: libyaml's own tree builder crashes the process on deep nesting.
"""

import re
from collections.abc import Iterator
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Final, NamedTuple

from numafit.errors import InputError

if TYPE_CHECKING:
    import yaml


Path = tuple[str | int, ...]
"""Keys and indexes from the root to a value."""

Members = dict[str, tuple[int, int, "PlacedValue"]]
"""The members of a mapping: line and column of the key, then the value."""

DEEPEST = 100
LARGEST = 1_000_000
"""How many values the aliases of a stream may add to those that are written in it."""
LARGEST_PLACED = 1 << 24
"""Of a JSON text, in bytes: places in a larger one are not looked up, since that takes minutes."""


class PlacedValue(NamedTuple):
    """A value and where it stands; `size` counts the values in it."""

    value: object
    line: int
    column: int
    children: "Members | list[PlacedValue] | None" = None
    size: int = 1


class Document:
    """One document of a file. `value` holds only dict, list, str, int, float, bool and None; treat it as read-only."""

    __slots__ = ("_root", "_text", "source", "value")

    def __init__(self, value: object, source: str, *, root: PlacedValue | None = None, text: str = "") -> None:
        self.value: Final = value
        self.source: Final = source
        self._root = root
        self._text = text

    def place(self, path: Path, *, key: bool = False) -> tuple[int, int] | tuple[None, None]:
        """Line and column of the value at `path`, or of its key; of the deepest part that exists, if it does not."""
        node = self.nodes()
        if node is None:
            return None, None
        line, column = node.line, node.column
        for step in path:
            children = node.children
            if isinstance(children, dict) and isinstance(step, str) and step in children:
                key_line, key_column, node = children[step]
                line, column = (key_line, key_column) if key else (node.line, node.column)
            elif isinstance(children, list) and isinstance(step, int) and step < len(children):
                node = children[step]
                line, column = node.line, node.column
            else:
                break
        return line, column

    def error(self, message: str, path: Path = (), *, cure: str = "", key: bool = False) -> InputError:
        """To be raised: `message` with the place of the value at `path` (or of its key)."""
        line, column = self.place(path, key=key)
        return InputError(
            message,
            source=self.source,
            line=line,
            column=column,
            field=field_text(path),
            cure=cure,
            path=path,
            key=key,
        )

    def nodes(self) -> PlacedValue | None:
        """JSON is read without places; they are looked up when an error needs them."""
        if self._root is None and 0 < len(self._text) <= LARGEST_PLACED:
            try:
                self._root = next(_yaml_nodes(self._text, self.source), None)
            except InputError:
                self._text = ""
        return self._root


def field_text(path: Path) -> str:
    """`spec.containers[0].resources.limits.cpu`; keys that are no plain word stand in brackets."""
    text = ""
    for step in path:
        if isinstance(step, str) and re.fullmatch(r"[\w-]+", step):
            text += f".{step}" if text else step
        else:
            text += f"[{step}]"
    return text


def read_documents(data: str | bytes, source: str = "") -> list[Document]:
    """All documents of a file that are not empty. Raises `InputError` with the place, for whatever the bytes are."""
    text = _decoded(data, source)
    if text.lstrip()[:1] in ("{", "["):
        document = _read_json(text, source)
        if document is not None:
            return [document]
    nodes = _yaml_nodes(text, source)
    return [Document(node.value, source, root=node) for node in nodes if node.value is not None]


def read_document(data: str | bytes, source: str = "") -> Document:
    """The only document of a file."""
    documents = read_documents(data, source)
    if not documents:
        raise InputError("the file holds no document", source=source)
    if len(documents) > 1:
        line, column = documents[1].place(())
        raise InputError("one document expected, here starts a second one", source=source, line=line, column=column)
    return documents[0]


def _decoded(data: str | bytes, source: str) -> str:
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(data, error.start, source) from None


def not_utf8(data: bytes, at: int, source: str) -> InputError:
    """The error for a file whose byte number `at` belongs to no text."""
    line = data.count(b"\n", 0, at) + 1
    column = at - data.rfind(b"\n", 0, at)
    message = f"byte 0x{data[at]:02x} is not UTF-8 text"
    return InputError(message, source=source, line=line, column=column, cure="save the file as UTF-8")


class _NotPlainJSON(ValueError):
    """A duplicate key or NaN: left to the YAML reader, which knows the place."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _NotPlainJSON
    return members


def _no_constant(name: str) -> object:
    raise _NotPlainJSON


def _read_json(text: str, source: str) -> Document | None:
    """None if this is not JSON after all, or JSON with something to complain about."""
    import json

    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
        if re.search(r"\\u[dD][89a-fA-F]", text):
            # half of a surrogate pair is a Python text that cannot be written anywhere
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return Document(value, source, text=text)


class _Key(NamedTuple):
    text: str
    line: int
    column: int
    merges: bool


class _Open:
    """A list or mapping that is being read; `key` is that of the member to come."""

    def __init__(self, line: int, column: int, anchor: str | None, *, is_list: bool) -> None:
        self.line = line
        self.column = column
        self.anchor = anchor
        self.size = 1
        self.items: list[PlacedValue] | None = [] if is_list else None
        self.members: Members = {}
        self.inherited: Members = {}
        self.key: _Key | None = None

    @property
    def wants_key(self) -> bool:
        return self.items is None and self.key is None

    def close(self) -> PlacedValue:
        if self.items is not None:
            return PlacedValue([item.value for item in self.items], self.line, self.column, self.items, self.size)
        members = {**self.inherited, **self.members}
        value = {key: member[2].value for key, member in members.items()}
        return PlacedValue(value, self.line, self.column, members, self.size)


class _Builder:
    """Puts the parser's events together to nodes."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.stack: list[_Open] = []
        self.anchors: dict[str, PlacedValue] = {}
        self.written = 0
        self.root: PlacedValue | None = None

    def error(self, message: str, line: int, column: int) -> InputError:
        return InputError(message, source=self.source, line=line, column=column)

    def open(self, line: int, column: int, anchor: str | None, *, is_list: bool) -> None:
        if len(self.stack) == DEEPEST:
            raise self.error(f"nested more than {DEEPEST} levels deep", line, column)
        if self.stack and self.stack[-1].wants_key:
            raise self.error("a key must be a text, not a list or mapping", line, column)
        self.stack.append(_Open(line, column, anchor, is_list=is_list))

    def close(self) -> None:
        opened = self.stack.pop()
        self.written += 1
        self.add(opened.close(), opened.anchor)

    def scalar(self, line: int, column: int, event: "yaml.ScalarEvent") -> None:
        text: str = event.value
        plain: bool = event.implicit[0]
        value: object = text
        if plain or event.tag in _TAGGED_TYPES:
            value = resolved(text)
            if isinstance(value, float) and not isfinite(value):
                raise self.error(f"{text} is not a number that Kubernetes takes", line, column)
            if not plain and not isinstance(value, _TAGGED_TYPES[event.tag or ""]):
                raise self.error(f'"{text}" does not fit the tag {event.tag}', line, column)
        if self.stack and self.stack[-1].wants_key:
            if value is None or isinstance(value, float):
                raise self.error(f'a key must be a text, not "{text}"', line, column)
            self.begin(self.stack[-1], _Key(_key_text(value), line, column, merges=plain and text == "<<"))
        else:
            self.written += 1
            self.add(PlacedValue(value, line, column), event.anchor)

    def begin(self, mapping: _Open, key: _Key) -> None:
        if key.text in mapping.members:
            first = mapping.members[key.text][0]
            message = f'the key "{key.text}" stands here a second time, first in line {first}'
            raise self.error(message, key.line, key.column)
        mapping.key = key

    def alias(self, line: int, column: int, name: str) -> None:
        if any(opened.anchor == name for opened in self.stack):
            raise self.error(f"the value of anchor {name} contains itself", line, column)
        if name not in self.anchors:
            raise self.error(f"there is no anchor {name}", line, column)
        if self.stack and self.stack[-1].wants_key:
            raise self.error("a key must be a text, not an alias", line, column)
        self.add(self.anchors[name]._replace(line=line, column=column))

    def add(self, node: PlacedValue, anchor: str | None = None) -> None:
        if anchor is not None:
            self.anchors[anchor] = node
        if not self.stack:
            self.root = node
            return
        top = self.stack[-1]
        top.size += node.size
        if top.size > LARGEST + self.written + len(self.stack):
            raise self.error(f"aliases add more than {LARGEST} values", node.line, node.column)
        if top.items is not None:
            top.items.append(node)
        elif top.key is not None:
            key, top.key = top.key, None
            if key.merges:
                self.inherit(top, node)
            else:
                top.members[key.text] = (key.line, key.column, node)

    def inherit(self, mapping: _Open, node: PlacedValue) -> None:
        """Of several merged mappings the first one that has a key gives its value."""
        for part in node.children if isinstance(node.children, list) else [node]:
            if not isinstance(part.children, dict):
                raise self.error("<< needs a mapping or a list of mappings", node.line, node.column)
            mapping.inherited = {**part.children, **mapping.inherited}


def _yaml_nodes(text: str, source: str) -> Iterator[PlacedValue]:
    """The root of each document."""
    import yaml

    builder = _Builder(source)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        while loader.check_event():
            event = loader.get_event()
            line, column = event.start_mark.line + 1, event.start_mark.column + 1
            if isinstance(event, yaml.ScalarEvent):
                builder.scalar(line, column, event)
            elif isinstance(event, yaml.CollectionStartEvent):
                builder.open(line, column, event.anchor, is_list=isinstance(event, yaml.SequenceStartEvent))
            elif isinstance(event, yaml.CollectionEndEvent):
                builder.close()
            elif isinstance(event, yaml.AliasEvent):
                builder.alias(line, column, event.anchor or "")
            elif isinstance(event, yaml.DocumentEndEvent) and builder.root is not None:
                yield builder.root
                builder = _Builder(source)
    except yaml.MarkedYAMLError as error:
        raise _broken(error, text, source) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        message = f"character U+{int(error.character):04X} is not allowed in YAML"
        column = error.position - before.rfind("\n")
        raise InputError(message, source=source, line=before.count("\n") + 1, column=column) from None
    finally:
        loader.dispose()


def _broken(error: "yaml.MarkedYAMLError", text: str, source: str) -> InputError:
    mark = error.problem_mark
    if mark is None:
        return InputError(f"not YAML: {error.problem}", source=source)
    lines = text.splitlines()
    tab = mark.line < len(lines) and "\t" in lines[mark.line][: mark.column + 1]
    cure = "indent with blanks, not with tabs" if tab else ""
    message = f"not YAML: {error.problem}"
    return InputError(message, source=source, line=mark.line + 1, column=mark.column + 1, cure=cure)


_TAGGED_TYPES: dict[str, type | tuple[type, ...]] = {
    "tag:yaml.org,2002:bool": bool,
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": (int, float),
    "tag:yaml.org,2002:null": type(None),
}
_WORDS: dict[str, object] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -inf),
}
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def resolved(text: str) -> object:
    """What an unquoted scalar means: bool, null, int, float or else the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    plain = text.replace("_", "")
    integer = _INTEGER.fullmatch(plain) if len(plain) < 100 else None
    if integer is not None:
        sign, hexadecimal, binary, octal, decimal = integer.groups()
        digits, base = next(pair for pair in ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10)) if pair[0])
        number = int(sign + digits, base)
        if -(1 << 63) <= number < (1 << 63 if sign else 1 << 64):
            return number
    if _FLOAT.fullmatch(plain) and isfinite(float(plain)):
        return float(plain)
    return text


def _key_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
