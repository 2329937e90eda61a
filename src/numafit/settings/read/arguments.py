"""The words of a kubelet's command line, with the lines they stand on: from a list, or from an environment file.

An environment file (`kubelet.env`, `/etc/default/kubelet`, a systemd EnvironmentFile) has lines `NAME=value`, `export`
allowed, comments with `#` or `;`, quotes, and a backslash at the end of a line that goes on. Only variables whose value
begins with a flag count; others (a log level, a host name) are not arguments.
"""

import re
from typing import NamedTuple

from numafit.errors import InputError

_ASSIGNMENT = re.compile(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)=")


class Argument(NamedTuple):
    text: str
    line: int | None = None


class _Letter(NamedTuple):
    text: str
    line: int


def arguments_of_env(text: str, source: str) -> tuple[Argument, ...]:
    """Every flag of every variable, in the order of the file."""
    arguments: list[Argument] = []
    position, line = 0, 1
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        row = text[position:end]
        if not row.strip() or row.lstrip()[0] in "#;":
            position, line = end + 1, line + 1
            continue
        match = _ASSIGNMENT.match(text, position, end)
        if match is None:
            raise InputError(
                "expected NAME=value", source=source, line=line, cure="put flags into a variable such as KUBELET_ARGS"
            )
        letters, position, line = _value(text, match.end(), line, source)
        words = _split(letters, source)
        if words and words[0].text.startswith("-"):
            arguments += words
    return tuple(arguments)


def _value(text: str, position: int, line: int, source: str) -> tuple[list[_Letter], int, int]:
    """The value from `position` to the end of its line, outer quotes removed, with the place and line after it."""
    letters: list[_Letter] = []
    quote, opened = "", line
    while position < len(text):
        letter = text[position]
        following = text[position + 1 : position + 2]
        if letter == "\\" and quote != "'" and following:
            if following != "\n":
                # `\"` within double quotes is a quote of the value's own
                letters.append(_Letter(following, line))
            line += following == "\n"
            position += 2
            continue
        position += 1
        if letter == "\n":
            line += 1
            if not quote:
                return letters, position, line
        if quote and letter == quote:
            quote = ""
        elif not quote and letter in "'\"":
            quote, opened = letter, line
        else:
            letters.append(_Letter(letter, line))
    if quote:
        raise InputError(f"the quote {quote} is not closed", source=source, line=opened)
    return letters, position, line


def _split(letters: list[_Letter], source: str) -> list[Argument]:
    """Words between blanks; quotes inside the value hold a word together and disappear."""
    words: list[Argument] = []
    word: list[str] | None = None
    start, quote = 0, ""
    for letter, line in letters:
        if not quote and letter.isspace():
            if word is not None:
                words.append(Argument("".join(word), start))
            word = None
            continue
        if word is None:
            word, start = [], line
        if quote and letter == quote:
            quote = ""
        elif not quote and letter in "'\"":
            quote = letter
        else:
            word.append(letter)
    if quote:
        raise InputError(f"the quote {quote} is not closed", source=source, line=start)
    if word is not None:
        words.append(Argument("".join(word), start))
    return words
