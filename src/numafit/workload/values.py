"""The values of a manifest, each of the type that is expected there; another one is an error with its place."""

from typing import NamedTuple

from numafit.document import Document, Path

ManifestObject = dict[str, object]

LARGEST_NUMBER = (1 << 31) - 1
"""Of replicas and the like, which have 32 bits."""


def mapping_at(document: Document, value: object, path: Path) -> ManifestObject:
    """A missing mapping is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise document.error("a mapping is expected here", path)
    return value


def list_at(document: Document, value: object, path: Path) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise document.error("a list is expected here", path)
    return value


def text_at(document: Document, mapping: ManifestObject, name: str, path: Path) -> str:
    value = mapping.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise document.error("a text is expected here", (*path, name), cure="put it in quotes")
    return value


def number_at(document: Document, mapping: ManifestObject, name: str, path: Path, missing: int) -> int:
    value = mapping.get(name)
    if value is None:
        return missing
    if isinstance(value, bool) or not isinstance(value, int):
        raise document.error("a whole number is expected here", (*path, name))
    if value > LARGEST_NUMBER:
        message = f"{value} is more than the API server takes, which is {LARGEST_NUMBER}"
        raise document.error(message, (*path, name), cure="is this the right number?")
    if value < 0:
        raise document.error(f"Invalid value: {value}: must be greater than or equal to 0", (*path, name))
    return value


class ObjectPart(NamedTuple):
    """A mapping of a manifest, and where it stands."""

    document: Document
    value: ManifestObject
    path: Path = ()

    def part(self, *names: str) -> "ObjectPart":
        """A missing mapping is an empty one."""
        document, value, path = self
        for name in names:
            path = (*path, name)
            value = mapping_at(document, value.get(name), path)
        return ObjectPart(document, value, path) if names else self

    def parts(self, name: str) -> "list[ObjectPart]":
        path: Path = (*self.path, name)
        values = list_at(self.document, self.value.get(name), path)
        return [
            ObjectPart(self.document, mapping_at(self.document, value, (*path, index)), (*path, index))
            for index, value in enumerate(values)
        ]

    def text(self, name: str) -> str:
        return text_at(self.document, self.value, name, self.path)

    def texts(self, name: str) -> tuple[str, ...]:
        path: Path = (*self.path, name)
        found = list_at(self.document, self.value.get(name), path)
        for index, value in enumerate(found):
            if not isinstance(value, str):
                raise self.document.error("a text is expected here", (*path, index), cure="put it in quotes")
        return tuple(value for value in found if isinstance(value, str))

    def whole(self, name: str) -> int | None:
        """A number of 32 bits, which may be below zero."""
        value = self.value.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not -LARGEST_NUMBER - 1 <= value <= LARGEST_NUMBER:
            raise self.document.error("a whole number of 32 bits is expected here", (*self.path, name))
        return value

    def number(self, name: str, missing: int) -> int:
        return number_at(self.document, self.value, name, self.path, missing)
