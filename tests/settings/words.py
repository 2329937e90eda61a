"""Flags as a person types them."""

from collections.abc import Iterable

from numafit.settings.read.arguments import Argument


def arguments_of_words(words: Iterable[str]) -> tuple[Argument, ...]:
    return tuple(Argument(word) for word in words)
