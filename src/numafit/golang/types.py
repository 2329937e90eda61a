"""The Go types of which the kubelet's state files are made: how each is read from JSON, written to JSON and dumped.

Decoding follows Go: it works on an existing value; a mismatch is remembered and decoding goes on; `null` empties maps,
lists and pointers and leaves the rest alone; a repeated struct field is merged into what is there; a repeated map key
replaces.
"""

import base64
import re
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from numafit.golang.json import GoNumber, GoValue, JsonError, as_text, kind_of, parse, quote
from numafit.golang.spew import Spew

T = TypeVar("T")


class DecodeState:
    """Where decoding stands, and the first mismatch found."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.path: list[str] = []
        self.error: JsonError | None = None

    def mismatch(self, found: str, wanted: str, reason: str = "") -> None:
        if self.path:
            field = ".".join(step.replace("~", "~0").replace("/", "~1") for step in self.path)
            # a last step of digits looks like a list index to Go, which then leaves three words out
            indexed = re.search(r"(?:^|\.)[0-9]+$", field)
            into = f"{'' if indexed else 'Go struct field '}{self.root.rpartition('.')[2]}.{field}"
        else:
            into = "Go value"
        self.fail(
            f"json: cannot unmarshal {found} into {into} of type {wanted}{': ' if reason else ''}{reason}", found=found
        )

    def fail(self, message: str, *, found: str = "") -> None:
        """`found`: the kind of JSON value that does not fit."""
        self.error = self.error or JsonError(message, facts={"found": found})


class GoType(ABC, Generic[T]):
    name: str
    """As Go prints the type."""

    @abstractmethod
    def zero(self) -> T: ...

    @abstractmethod
    def decode(self, node: GoValue, old: T, place: DecodeState) -> T: ...

    @abstractmethod
    def encode(self, value: T) -> str: ...

    @abstractmethod
    def dump(self, value: T, spew: Spew) -> None: ...


def unmarshal(data: str | bytes, kind: GoType[T], into: T) -> tuple[T, JsonError | None]:
    """What Go's json.Unmarshal makes of the value, and its error. No JSON, no change."""
    try:
        node = parse(as_text(data))
    except JsonError as error:
        return into, error
    place = DecodeState(kind.name)
    value = kind.decode(node, into, place)
    return value, place.error


def dumped(kind: GoType[T], value: T, *, pointer_to: str = "") -> str:
    """go-spew's text of a value, or of a pointer to it under the type name `pointer_to`."""
    spew = Spew()
    if pointer_to:
        spew.pointer(pointer_to)
    kind.dump(value, spew)
    return spew.text


class Text(GoType[str]):
    def __init__(self, name: str = "string") -> None:
        self.name = name

    def zero(self) -> str:
        return ""

    def decode(self, node: GoValue, old: str, place: DecodeState) -> str:
        if isinstance(node, str):
            return node
        if node is not None:
            place.mismatch(kind_of(node), self.name)
        return old

    def encode(self, value: str) -> str:
        return quote(value)

    def dump(self, value: str, spew: Spew) -> None:
        spew.type(self.name)
        spew.write(value)


class Whole(GoType[int]):
    """A whole number; an unsigned one refuses every minus sign, even that of `-0`."""

    def __init__(self, name: str, bits: int, *, signed: bool) -> None:
        self.name = name
        self.low = -(1 << bits - 1) if signed else 0
        self.high = (1 << bits - 1 if signed else 1 << bits) - 1
        self.pattern = re.compile(r"-?[0-9]{1,19}" if signed else r"[0-9]{1,20}")

    def zero(self) -> int:
        return 0

    def parsed(self, text: str) -> int | None:
        """A map key, as Go's ParseInt takes it: a sign and leading zeros are allowed."""
        digits = text[1:] if text[:1] in ("+", "-") else text
        if not (digits.isascii() and digits.isdigit()) or len(digits.lstrip("0")) > 20:
            return None
        number = int(digits.lstrip("0") or "0") * (-1 if text[:1] == "-" else 1)
        return number if self.low <= number <= self.high else None

    def decode(self, node: GoValue, old: int, place: DecodeState) -> int:
        if isinstance(node, GoNumber):
            if self.pattern.fullmatch(node.text) and self.low <= int(node.text) <= self.high:
                return int(node.text)
            place.mismatch(f"number {node.text}", self.name)
        elif node is not None:
            place.mismatch(kind_of(node), self.name)
        return old

    def encode(self, value: int) -> str:
        return str(value)

    def dump(self, value: int, spew: Spew) -> None:
        spew.type(self.name)
        spew.write(str(value))


_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_UINT8 = Whole("uint8", 8, signed=False)


class Bytes(GoType[bytes | None]):
    """Base64 text; a list of numbers is read too."""

    name = "[]uint8"

    def zero(self) -> bytes | None:
        return None

    def decode(self, node: GoValue, old: bytes | None, place: DecodeState) -> bytes | None:
        if node is None:
            return None
        if isinstance(node, list):
            return self._from_numbers(node, old or b"", place)
        if not isinstance(node, str):
            place.mismatch(kind_of(node), self.name)
            return old
        text = node.replace("\r", "").replace("\n", "")
        valid = _BASE64.match(text)
        end = valid.end() if valid else 0
        if end == len(text):
            return base64.b64decode(text)
        stray = re.compile(r"[^A-Za-z0-9+/]").search(text, end)
        wrong = stray.start() if stray and not text[:end].endswith("=") else end
        place.mismatch("string", self.name, f"illegal base64 data at input byte {wrong}")
        return old

    def _from_numbers(self, nodes: list[GoValue], old: bytes, place: DecodeState) -> bytes:
        numbers = []
        for index, node in enumerate(nodes):
            place.path.append(str(index))
            numbers.append(_UINT8.decode(node, old[index] if index < len(old) else 0, place))
            place.path.pop()
        return bytes(numbers)

    def encode(self, value: bytes | None) -> str:
        return "null" if value is None else f'"{base64.b64encode(value).decode()}"'

    def dump(self, value: bytes | None, spew: Spew) -> None:
        spew.type(self.name)
        spew.write("<nil>" if value is None else f"[{' '.join(map(str, value))}]")
