"""A folder that lies in memory and reads like any other: what was fetched goes the same way as files."""

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class HeldPath(type(Path())):  # type: ignore[misc]
    """`content`: a file's bytes, a folder's files by name, or None for what is not there."""

    content: bytes | Mapping[str, bytes] | None = None

    @classmethod
    def folder(cls, name: str, files: Mapping[str, bytes]) -> "HeldPath":
        return cls._of(name, files)

    @classmethod
    def file(cls, name: str, content: bytes) -> "HeldPath":
        return cls._of(name, content)

    @classmethod
    def _of(cls, name: str, content: bytes | Mapping[str, bytes] | None) -> "HeldPath":
        path = cls(name)
        path.content = content
        return path

    def __truediv__(self, name: Any) -> "HeldPath":
        files = self.content if isinstance(self.content, Mapping) else {}
        return self._of(f"{self}/{name}", files.get(str(name)))

    def exists(self, **_: Any) -> bool:
        return self.content is not None

    def is_dir(self, **_: Any) -> bool:
        return isinstance(self.content, Mapping)

    def is_file(self, **_: Any) -> bool:
        return isinstance(self.content, bytes)

    def iterdir(self) -> Iterator["HeldPath"]:
        return (self / name for name in (self.content if isinstance(self.content, Mapping) else ()))

    def open(self, *_: Any, **__: Any) -> Any:
        if not isinstance(self.content, bytes):
            raise FileNotFoundError(2, "No such file", str(self))
        return io.BytesIO(self.content)
