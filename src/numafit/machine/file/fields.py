"""Typed reading of a mapping in a document: each complaint names file, line and field."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TypeVar

from numafit.amounts import parse_amount
from numafit.bits import parse_numbers
from numafit.document import Document, Path
from numafit.errors import InputError

T = TypeVar("T")

FORMAT = "numafit/machine/v1"
"""What a machine file says of itself."""
LARGEST_NUMBER = (1 << 63) - 1
MOST_IDS = 500_000
"""How many ids all lists of a document may name: a short text could otherwise stand for an endless machine."""


class Fields:
    """The members of one mapping. A member that is null counts as missing."""

    def __init__(
        self, document: Document, path: Path, value: object, known: Sequence[str], used: list[int] | None = None
    ) -> None:
        self.document = document
        self.path = path
        self._used = [0] if used is None else used
        """One number, shared by the whole document: how many ids its lists have named so far."""
        if not isinstance(value, dict):
            raise document.error(f"a mapping is needed here, not {_word(value)}", path)
        self._members: dict[str, object] = {name: member for name, member in value.items() if member is not None}
        for name in value:
            if name not in known:
                raise document.error(
                    f'there is no field "{name[:60]}"', (*path, name), cure=_advice(name, known), key=True
                )

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def error(self, message: str, *steps: str | int, cure: str = "") -> InputError:
        return self.document.error(message, (*self.path, *steps), cure=cure)

    def need(self, name: str) -> None:
        if name not in self._members:
            raise self.error(f'the field "{name}" is missing')

    def text(self, name: str, default: str = "") -> str:
        value = self._members.get(name, default)
        if not isinstance(value, str):
            raise self.error(f"a text is needed here, not {_word(value)}", name, cure="put it in quotes")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self._members.get(name, default)
        if not isinstance(value, bool):
            raise self.error(f"true or false is needed here, not {_word(value)}", name)
        return value

    def integer(self, name: str, *steps: int) -> int | None:
        """Not negative; None if missing."""
        value = self._members.get(name)
        for step in steps:
            assert isinstance(value, list)
            value = value[step]
        if value is None and not steps:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(f"a whole number is needed here, not {_word(value)}", name, *steps)
        if not 0 <= value <= LARGEST_NUMBER:
            raise self.error(f"{value} is out of range", name, *steps)
        return value

    def integers(self, name: str) -> tuple[int, ...] | None:
        if name not in self._members:
            return None
        found = (self.integer(name, step) for step in range(len(self.items(name))))
        return tuple(number for number in found if number is not None)

    def items(self, name: str) -> list[object]:
        """Empty if missing."""
        value = self._members.get(name, [])
        if not isinstance(value, list):
            raise self.error(f"a list is needed here, not {_word(value)}", name)
        return value

    def amount(self, name: str) -> int | None:
        """Bytes: a number, or a text such as 16Gi."""
        value = self._members.get(name)
        if isinstance(value, str):
            return self._parsed(value, parse_amount, "write it like 16Gi", name)
        return self.integer(name)

    def numbers(self, name: str, *steps: int) -> list[int]:
        """A list of ids as text, such as 0-3,8; a single id may be a number."""
        value = self._members.get(name, "")
        for step in steps:
            assert isinstance(value, list)
            value = value[step]
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise self.error(
                f"a list of ids is needed here, not {_word(value)}", name, *steps, cure="write it like 0-3,8"
            )
        numbers = self._parsed(value, parse_numbers, "write it like 0-3,8", name, *steps)
        self._used[0] += len(numbers)
        if self._used[0] > MOST_IDS:
            raise self.error(f"all lists together name more than {MOST_IDS} ids", name, *steps)
        return numbers

    def within(self, name: str, known: Sequence[str], *steps: int) -> "Fields":
        """The mapping that is this member, or an item of it."""
        value = self._members.get(name)
        for step in steps:
            assert isinstance(value, list)
            value = value[step]
        return Fields(self.document, (*self.path, name, *steps), value, known, self._used)

    def mapping(self, name: str) -> dict[str, object]:
        """With any keys; empty if missing."""
        value = self._members.get(name, {})
        if not isinstance(value, dict):
            raise self.error(f"a mapping is needed here, not {_word(value)}", name)
        return value

    def value(self, name: str) -> object:
        return self._members.get(name)

    def _parsed(self, text: str, parse: Callable[[str], T], cure: str, *steps: str | int) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise self.error(str(error), *steps, cure=cure) from None


def _advice(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name[:60], known, n=1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"


def _word(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)[:40]
    if isinstance(value, str):
        return f'"{value[:40]}"'
    return "a list" if isinstance(value, list) else "a mapping"
