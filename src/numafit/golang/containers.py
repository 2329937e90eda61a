"""Go's lists, maps, pointers and structs as they stand in the kubelet's state files (see `types`)."""

from abc import abstractmethod
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from numafit.golang.json import GoObject, GoValue, kind_of, quote
from numafit.golang.spew import Spew
from numafit.golang.types import DecodeState, GoType, Text, Whole

T = TypeVar("T")
K = TypeVar("K", str, int)
S = TypeVar("S", bound=msgspec.Struct)


class List(GoType[tuple[T, ...] | None]):
    """An element that stands where an earlier reading of the same field left one is merged into that one."""

    def __init__(self, of: GoType[T]) -> None:
        self.of = of
        self.name = f"[]{of.name}"

    def zero(self) -> tuple[T, ...] | None:
        return None

    def decode(self, node: GoValue, old: tuple[T, ...] | None, place: DecodeState) -> tuple[T, ...] | None:
        if node is None:
            return None
        if not isinstance(node, list):
            place.mismatch(kind_of(node), self.name)
            return old
        known = old or ()
        elements = []
        for index, item in enumerate(node):
            place.path.append(str(index))
            elements.append(self.of.decode(item, known[index] if index < len(known) else self.of.zero(), place))
            place.path.pop()
        return tuple(elements)

    def encode(self, value: tuple[T, ...] | None) -> str:
        return "null" if value is None else f"[{','.join(map(self.of.encode, value))}]"

    def dump(self, value: tuple[T, ...] | None, spew: Spew) -> None:
        spew.type(self.name)
        if value is None:
            spew.write("<nil>")
            return
        spew.write("[")
        for index, element in enumerate(value):
            if index:
                spew.write(" ")
            spew.bare = True
            self.of.dump(element, spew)
        spew.write("]")


class Map(GoType[dict[K, T] | None], Generic[K, T]):
    """Keys are sorted in both outputs: in JSON as text, in the dump by value (node 10 stands before 2 only in JSON)."""

    def __init__(self, key_name: str, of: GoType[T], name: str = "") -> None:
        self.of = of
        self.name = name or f"map[{key_name}]{of.name}"

    @abstractmethod
    def key(self, text: str, place: DecodeState) -> K | None: ...

    def zero(self) -> dict[K, T] | None:
        return None

    def decode(self, node: GoValue, old: dict[K, T] | None, place: DecodeState) -> dict[K, T] | None:
        if node is None:
            return None
        if not isinstance(node, GoObject):
            place.mismatch(kind_of(node), self.name)
            return old
        result = dict(old or {})
        for text, item in node.items:
            place.path.append(text)
            key = self.key(text, place)
            if key is not None:
                result[key] = self.of.decode(item, self.of.zero(), place)
            place.path.pop()
        return result

    def encode(self, value: dict[K, T] | None) -> str:
        if value is None:
            return "null"
        return "{" + ",".join(f"{quote(str(key))}:{self.of.encode(value[key])}" for key in sorted(value, key=str)) + "}"

    def dump(self, value: dict[K, T] | None, spew: Spew) -> None:
        spew.type(self.name)
        if value is None:
            spew.write("<nil>")
            return
        spew.write("map[")
        for index, key in enumerate(sorted(value)):
            spew.write(f"{' ' if index else ''}{key}:")
            spew.bare = True
            self.of.dump(value[key], spew)
        spew.write("]")


class TextMap(Map[str, T]):
    def __init__(self, of: GoType[T], name: str = "", key: Text | None = None) -> None:
        super().__init__((key or Text()).name, of, name)

    def key(self, text: str, place: DecodeState) -> str | None:
        return text


class NumberMap(Map[int, T]):
    """Go takes `+1` and `01` for keys although they are no JSON numbers."""

    def __init__(self, key: Whole, of: GoType[T], name: str = "") -> None:
        super().__init__(key.name, of, name)
        self.whole = key

    def key(self, text: str, place: DecodeState) -> int | None:
        number = self.whole.parsed(text)
        if number is None:
            place.mismatch(f"number {text}", self.whole.name)
        return number


class Pointer(GoType[T | None]):
    """A pointer inside a map."""

    def __init__(self, to: GoType[T]) -> None:
        self.to = to
        self.name = f"*{to.name}"

    def zero(self) -> T | None:
        return None

    def decode(self, node: GoValue, old: T | None, place: DecodeState) -> T | None:
        return None if node is None else self.to.decode(node, self.to.zero() if old is None else old, place)

    def encode(self, value: T | None) -> str:
        return "null" if value is None else self.to.encode(value)

    def dump(self, value: T | None, spew: Spew) -> None:
        if value is None:
            spew.nil_pointer()
        else:
            spew.pointer(self.to.name)
            self.to.dump(value, spew)


class GoField(NamedTuple):
    go: str
    json: str
    attribute: str
    type: GoType[Any]  # the fields of one struct have different types
    omit_empty: bool = False


def _folded(name: str) -> str:
    """Go matches field names without regard to case; two letters outside ASCII fold onto `s` and `k`."""
    return name.replace("\u017f", "s").replace("\u212a", "k").lower()


class GoStruct(GoType[S]):
    """A Go struct, held as the msgspec Struct `make`; fields stand in declaration order."""

    def __init__(self, name: str, make: type[S], *fields: GoField) -> None:
        self.name = name
        self.make = make
        self.fields = fields
        self.by_name = {_folded(field.json): field for field in fields}

    def renamed(self, name: str) -> "GoStruct[S]":
        return GoStruct(name, self.make, *self.fields)

    def zero(self) -> S:
        return self.make(**{field.attribute: field.type.zero() for field in self.fields})

    def decode(self, node: GoValue, old: S, place: DecodeState) -> S:
        if node is None:
            return old
        if not isinstance(node, GoObject):
            place.mismatch(kind_of(node), self.name)
            return old
        values = {field.attribute: getattr(old, field.attribute) for field in self.fields}
        for name, item in node.items:
            field = self.by_name.get(_folded(name))
            if field is not None:
                place.path.append(name)
                values[field.attribute] = field.type.decode(item, values[field.attribute], place)
                place.path.pop()
        return self.make(**values)

    def encode(self, value: S) -> str:
        members = []
        for field in self.fields:
            content = getattr(value, field.attribute)
            if content or not field.omit_empty:
                members.append(f'"{field.json}":{field.type.encode(content)}')
        return "{" + ",".join(members) + "}"

    def dump(self, value: S, spew: Spew) -> None:
        spew.type(self.name)
        spew.write("{")
        for index, field in enumerate(self.fields):
            spew.write(f"{' ' if index else ''}{field.go}:")
            field.type.dump(getattr(value, field.attribute), spew)
        spew.write("}")
