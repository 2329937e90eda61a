"""Where a value stands in the files that a person gave."""

import json
from typing import NamedTuple

from numafit.document import Document, Path, read_documents
from numafit.settings.read.arguments import Argument
from numafit.settings.read.loader import ConfigFile


class Position(NamedTuple):
    """Lines and columns count from 1."""

    source: str
    line: int = 1
    column: int = 1


class DocumentPart:
    """A value of a file, with the places of everything in it.

    `shift` moves the places of a document that stands as a text inside another one; `fixed` is the place of all of it
    when the inner places cannot be told.
    """

    def __init__(
        self, document: Document, path: Path = (), *, text: str = "", shift: Position | None = None, fixed: bool = False
    ) -> None:
        self.document = document
        self.path = path
        self.text = text
        self.shift = shift or Position(document.source, 0, 0)
        self.fixed = fixed

    @property
    def value(self) -> dict[str, object]:
        found = value_at(self.document.value, self.path)
        return found if isinstance(found, dict) else {}

    def place(self, path: Path = (), *, key: bool = False) -> Position:
        if self.fixed:
            return self.shift
        line, column = self.document.place((*self.path, *path), key=key)
        return Position(self.document.source, (line or 1) + self.shift.line, (column or 1) + self.shift.column)

    def file(self) -> ConfigFile:
        """The part as a file of its own."""
        alone = not self.path and len(read_documents(self.text, self.document.source)) == 1
        return ConfigFile(self.document.source, self.text if alone else written(self.value))


class FlagFile(NamedTuple):
    source: str
    text: str
    arguments: tuple[Argument, ...]


def written(value: object) -> str:
    """As YAML, whatever it was: the kubelet reads numbers in JSON a little otherwise."""
    return "---\n" + json.dumps(value, ensure_ascii=False)


def value_at(value: object, path: Path) -> object:
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
