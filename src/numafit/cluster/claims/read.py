"""ResourceClaims and ResourceSlices in files, among other objects."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

import msgspec

from numafit.cluster.claims.objects import CLAIM, GROUP, SLICE, ResourceClaim, ResourceSlice
from numafit.document import Document, Path, read_documents

T = TypeVar("T", ResourceClaim, ResourceSlice)

_KIND = re.compile(rb"""["']?kind["']?\s*:\s*["']?Resource(?:Claim|Slice)(?:List)?["']?\s*(?:[,}#\r\n]|$)""")


class ClaimObjects(NamedTuple):
    claims: tuple[ResourceClaim, ...] = ()
    slices: tuple[ResourceSlice, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.claims or self.slices)


def holds_claims(data: bytes) -> bool:
    """Whether one of them may be in this file; quick, since most files have none."""
    return _KIND.search(data) is not None


def read_claims(files: Iterable[tuple[str, bytes]]) -> ClaimObjects:
    """Of (name, content) of files; other objects are passed by. Raises InputError, with the place, for one that is
    none."""
    claims: list[ResourceClaim] = []
    slices: list[ResourceSlice] = []
    for name, data in files:
        if not holds_claims(data):
            continue
        for document in read_documents(data, name):
            for kind, value, path in _objects(document, document.value, (), ""):
                if kind == CLAIM:
                    claims.append(_as(ResourceClaim, document, value, path))
                else:
                    slices.append(_as(ResourceSlice, document, value, path))
    return ClaimObjects(tuple(claims), tuple(slices))


def _objects(document: Document, value: object, path: Path, kind: str) -> Iterator[tuple[str, object, Path]]:
    """`kind` is for the items of a list, which may leave it out."""
    if not isinstance(value, dict):
        return
    found = value.get("kind", kind)
    version = value.get("apiVersion", "")
    if found in (CLAIM, SLICE) and isinstance(version, str) and version.partition("/")[0] in ("", GROUP):
        yield found, value, path
    items = value.get("items")
    if isinstance(found, str) and found.endswith("List") and isinstance(items, list):
        for index, item in enumerate(items):
            yield from _objects(document, item, (*path, "items", index), found.removesuffix("List"))


def _as(kind: type[T], document: Document, value: object, path: Path) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, _, field = str(error).partition(" - at `$")
        where = f" ({field.strip('.`')})" if field else ""
        raise document.error(f"this is no {kind.__name__}: {message}{where}", path) from None
