"""JSON as Go reads and writes text: the grammar with Go's error texts, and Go's quoting.

`parse` gives a tree that keeps what Go looks at: object members in file order with duplicates, numbers as written. The
error texts are those of Go 1.27's encoding/json; releases up to 1.26 word a few of them differently.
"""

import json
import re
from typing import NamedTuple, NoReturn

from numafit.errors import KubeletError
from numafit.golang.text import go_quote, printed_character

MAX_DEPTH = 10000
"""Go refuses deeper nesting."""

REPLACEMENT = "\ufffd"


class JsonError(KubeletError):
    """The text is not JSON, or not the JSON that is wanted; the message is Go's."""


class GoNumber(NamedTuple):
    text: str


class GoObject(NamedTuple):
    items: "list[tuple[str, GoValue]]"


GoValue = None | bool | str | GoNumber | GoObject | list["GoValue"]

_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<fraction>\.[0-9]+)?(?P<exponent>[eE][+-]?[0-9]+)?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_HEX = re.compile(r"[0-9a-fA-F]{0,4}")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS: dict[str, tuple[str, bool | None]] = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_HTML_SIGN = re.compile("[<>&\u2028\u2029]")


def kind_of(node: GoValue) -> str:
    """Go's word for a JSON value in `cannot unmarshal …`."""
    match node:
        case None:
            return "null"
        case bool():
            return "bool"
        case str():
            return "string"
        case GoNumber():
            return "number"
        case GoObject():
            return "object"
        case _:
            return "array"


def quote(text: str) -> str:
    """A JSON string as Go writes it: `<`, `>`, `&` and the two Unicode line ends are escaped."""
    return _HTML_SIGN.sub(lambda sign: _HTML[sign.group()], json.dumps(text, ensure_ascii=False))


def as_text(data: str | bytes) -> str:
    """Each byte that is no UTF-8 becomes a lone surrogate, of which `parse` makes U+FFFD: one per byte, as Go does."""
    return data.decode("utf-8", "surrogateescape") if isinstance(data, bytes) else data


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, at: int, where: str) -> NoReturn:
        if at >= len(self.text):
            raise JsonError("unexpected end of JSON input")
        raise JsonError(f"invalid character '{printed_character(self.text[at], chr(39))}' {where}")

    def next(self) -> str:
        """The next character that is no white space, not consumed; empty at the end."""
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        return self.text[self.at : self.at + 1]

    def scalar(self, first: str) -> GoValue:
        if first == '"':
            return self.string()
        if first and first in "-0123456789":
            return self.number()
        if first in _LITERALS:
            word, value = _LITERALS[first]
            for offset, wanted in enumerate(word):
                if self.text[self.at + offset : self.at + offset + 1] != wanted:
                    self.fail(self.at + offset, f"in literal {word} (expecting '{wanted}')")
            self.at += len(word)
            return value
        return self.fail(self.at, "looking for beginning of value")

    def number(self) -> GoNumber:
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            self.fail(self.at + 1, "in numeric literal")
        end = found.end()
        after = self.text[end : end + 1]
        if after == "." and not found["fraction"] and not found["exponent"]:
            self.fail(end + 1, "in numeric literal")
        if after and after in "eE" and not found["exponent"]:
            signed = self.text[end + 1 : end + 2] in ("+", "-")
            self.fail(end + (2 if signed else 1), "in numeric literal")
        self.at = end
        return GoNumber(found.group())

    def string(self) -> str:
        at = self.at + 1
        parts = []
        while True:
            plain = _PLAIN.match(self.text, at)
            if plain:
                parts.append(plain.group())
                at = plain.end()
            stop = self.text[at : at + 1]
            if stop == '"':
                break
            if stop != "\\":
                self.fail(at, "in string")
            escape = self.text[at + 1 : at + 2]
            if escape == "u":
                parts.append(chr(self.code_unit(at)))
                at += 6
            elif escape in _ESCAPES:
                parts.append(_ESCAPES[escape])
                at += 2
            elif escape:
                self.bad_escape(at, 2)
            else:
                self.fail(at + 1, "in string")
        self.at = at + 1
        return well_formed("".join(parts))

    def code_unit(self, at: int) -> int:
        digits = _HEX.match(self.text, at + 2)
        found = digits.group() if digits else ""
        if len(found) == 4:
            return int(found, 16)
        if at + 2 + len(found) >= len(self.text):
            self.fail(len(self.text), "")
        return self.bad_escape(at, 6)

    def bad_escape(self, at: int, length: int) -> NoReturn:
        found = self.text[at : at + length]
        plain = found.isprintable() and not set("` ") & set(found)
        raise JsonError(f"invalid escape sequence {f'`{found}`' if plain else go_quote(found)} in string")


def well_formed(text: str) -> str:
    """Pairs of surrogates become their character, lone ones U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    paired = re.sub(
        "[\ud800-\udbff][\udc00-\udfff]",
        lambda pair: pair.group().encode("utf-16", "surrogatepass").decode("utf-16"),
        text,
    )
    return _SURROGATE.sub(REPLACEMENT, paired)


def parse(text: str) -> GoValue:
    """Without recursion, so that no nesting depth can harm the caller."""
    scanner = _Scanner(text)
    result: list[GoValue] = []
    # one entry per open container: its members or elements, and the key that waits for its value
    open_containers: list[tuple[GoObject | list[GoValue], list[str]]] = []
    while True:
        first = scanner.next()
        value: GoValue
        if first in ("{", "["):
            if len(open_containers) >= MAX_DEPTH:
                raise JsonError("exceeded max depth")
            scanner.at += 1
            value = GoObject([]) if first == "{" else []
            _put(open_containers, result, value)
            closing = "}" if first == "{" else "]"
            if scanner.next() == closing:
                scanner.at += 1
            else:
                open_containers.append((value, []))
                if first == "{":
                    _key(scanner, open_containers[-1][1])
                continue
        else:
            value = scanner.scalar(first)
            _put(open_containers, result, value)
        while open_containers:
            container, keys = open_containers[-1]
            in_object = isinstance(container, GoObject)
            after = scanner.next()
            if after == ",":
                scanner.at += 1
                if in_object:
                    _key(scanner, keys)
                break
            if after != ("}" if in_object else "]"):
                scanner.fail(scanner.at, "after object key:value pair" if in_object else "after array element")
            scanner.at += 1
            open_containers.pop()
        else:
            if scanner.next():
                scanner.fail(scanner.at, "after top-level value")
            return result[0]


def _key(scanner: _Scanner, keys: list[str]) -> None:
    if scanner.next() != '"':
        scanner.fail(scanner.at, "looking for beginning of object key string")
    keys.append(scanner.string())
    if scanner.next() != ":":
        scanner.fail(scanner.at, "after object key")
    scanner.at += 1


def _put(
    open_containers: list[tuple[GoObject | list[GoValue], list[str]]], result: list[GoValue], value: GoValue
) -> None:
    if not open_containers:
        result.append(value)
        return
    container, keys = open_containers[-1]
    if isinstance(container, GoObject):
        container.items.append((keys.pop(), value))
    else:
        container.append(value)
