"""The words of a sketch with their columns, so that each complaint points at one."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from numafit.errors import InputError
from numafit.machine.amounts import parse_amount

T = TypeVar("T")

LARGEST_COUNT = 4096


class Word(NamedTuple):
    text: str
    column: int


class Clause:
    """The words between two commas."""

    def __init__(self, words: list[Word], source: str, end: int) -> None:
        self.words = words
        self.source = source
        self.end = end
        self.next = 0

    def error(self, message: str, *, cure: str = "", word: Word | None = None) -> InputError:
        column = word.column if word else self.words[self.next].column if self.more() else self.end
        return InputError(message, source=self.source, line=1, column=column, cure=cure)

    @property
    def first(self) -> str:
        return self.words[0].text.lower() if self.words else ""

    def more(self) -> bool:
        return self.next < len(self.words)

    def take(self, what: str) -> Word:
        if not self.more():
            raise self.error(f"{what} is missing here")
        self.next += 1
        return self.words[self.next - 1]

    def rest(self, what: str) -> Iterator[Word]:
        """All further words, at least one."""
        yield self.take(what)
        while self.more():
            yield self.take(what)

    def expect(self, *texts: str) -> Word:
        word = self.take(f'"{texts[0]}"')
        if word.text.lower() not in texts:
            raise self.error(f'"{texts[0]}" is needed here, not "{word.text[:40]}"', word=word)
        return word

    def count(self, what: str) -> int:
        word = self.take(what)
        if not re.fullmatch(r"[0-9]{1,6}", word.text) or not 0 < int(word.text) <= LARGEST_COUNT:
            message = f'{what} must be a number from 1 to {LARGEST_COUNT}, not "{word.text[:40]}"'
            raise self.error(message, word=word)
        return int(word.text)

    def amount(self) -> int:
        word = self.take("an amount of memory")
        return self.parsed(word, word.text, parse_amount, "write it like 64Gi")

    def parsed(self, word: Word, text: str, parse: Callable[[str], T], cure: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise self.error(str(error), cure=cure, word=word) from None

    def finish(self) -> None:
        if self.more():
            word = self.words[self.next]
            raise self.error(f'"{word.text[:40]}" is too much here', cure="put a comma between two parts", word=word)


def clauses(text: str, source: str) -> Iterator[Clause]:
    words: list[Word] = []
    for match in re.finditer(r"[^\s,]+|,", text):
        if match.group() != ",":
            words.append(Word(match.group(), match.start() + 1))
            continue
        yield Clause(words, source, match.start() + 1)
        words = []
    yield Clause(words, source, len(text) + 1)
