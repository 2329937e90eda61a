"""Files that people name on the command line: read whole, with a limit; written whole or not at all."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from numafit.document import not_utf8
from numafit.errors import InputError

MANIFESTS = (".yaml", ".yml", ".json")
OTHER_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".pdf")
LARGEST_FILE = 1 << 28
"""Bytes; what never ends (`/dev/zero`) must not fill the memory."""


def read_bytes(path: Path) -> bytes:
    try:
        if str(path) == "-":
            data = sys.stdin.buffer.read(LARGEST_FILE + 1)
        else:
            with path.open("rb") as file:
                data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=str(path)) from error
    if len(data) > LARGEST_FILE:
        raise InputError(f"more than {LARGEST_FILE >> 20} MiB", source=str(path), cure="is this the right file?")
    return data


def read_text(path: Path) -> str:
    data = read_bytes(path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(data, error.start, str(path)) from None


def read_state(path: Path) -> str:
    """A state file as the kubelet reads it: a byte that is no UTF-8 is no error by itself, but a lone surrogate here,
    of which `golang.json` makes what Go does. A pipe would be waited at for ever."""
    if path.is_fifo():
        raise InputError("cannot be read: it is a pipe", source=str(path))
    return read_bytes(path).decode("utf-8", "surrogateescape")


def manifest_paths(given: Sequence[Path]) -> list[Path]:
    """A folder stands for the manifests in it, in the order of their names."""
    paths: list[Path] = []
    for path in given:
        if not path.is_dir():
            paths.append(path)
            continue
        found = sorted(entry for entry in path.iterdir() if entry.suffix in MANIFESTS and entry.is_file())
        if not found:
            raise InputError(
                "no manifests in this folder", source=str(path), cure=f"they end in {', '.join(MANIFESTS)}"
            )
        paths += found
    return paths


class WholeFile:
    """A file that takes its place only when it is complete: what was there before stays until `commit`.

    A link is followed. What is no plain file (`/dev/null`, a pipe) cannot be replaced, and is written to directly.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.temporary: Path | None = None

    def __enter__(self) -> "WholeFile":
        import tempfile

        try:
            if self.path.exists() and not self.path.is_file():
                self.file: IO[bytes] = self.path.open("wb")
                return self
            self.target = self.path.resolve()
            handle, name = tempfile.mkstemp(prefix=".numafit-", dir=self.target.parent)
        except (OSError, RuntimeError) as error:
            raise self._refused(error) from error
        self.file = os.fdopen(handle, "wb")
        self.temporary = Path(name)
        return self

    def write(self, data: bytes) -> None:
        try:
            self.file.write(data)
        except OSError as error:
            raise self._refused(error) from error

    def commit(self) -> None:
        mask = os.umask(0)
        os.umask(mask)
        try:
            self.file.flush()
            if self.temporary is None:
                return
            os.fsync(self.file.fileno())
            # Not every system renames a file that is open.
            self.file.close()
            # mkstemp makes files private; this one is an ordinary result.
            self.temporary.chmod(0o666 & ~mask)
            self.temporary.replace(self.target)
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError | RuntimeError) -> InputError:
        """A RuntimeError is what Python 3.11 and 3.12 make of links in a circle."""
        reason = getattr(error, "strerror", None) or error
        return InputError(f"cannot be written: {reason}", source=str(self.path))

    def __exit__(self, *_: object) -> None:
        # A full disk fails the last flush too; it was reported when it was met first.
        with suppress(OSError):
            self.file.close()
        if self.temporary is not None:
            self.temporary.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes) -> None:
    """Writes the file, and makes the folders it lies in."""
    if str(path) == "-":
        raise InputError("is no file to write to", source="-", cure="name one, or /dev/stdout")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror or error}", source=str(path.parent)) from error
    with WholeFile(path) as file:
        file.write(data)
        file.commit()


def check_picture(path: Path) -> None:
    """Before anything is drawn: whoever names another format expects that."""
    if path.suffix.lower() in OTHER_PICTURES:
        raise InputError("pictures are drawn as SVG", source=str(path), cure=f"call it {path.stem}.svg")


def drop_in_paths(folder: Path) -> list[Path]:
    """The kubelet's drop-in files under its folder of them."""
    if not folder.is_dir():
        raise InputError("is not a folder", source=str(folder), cure="name the kubelet's --config-dir")
    found = [path for path in folder.rglob("*.conf") if path.is_symlink() or not path.is_dir()]
    for path in found:
        # A link that leads nowhere or to a folder, a pipe, a device.
        if not path.is_file():
            why = "is no file that can be read, and the kubelet would read it and not start"
            raise InputError(why, source=str(path), cure="remove it, or what it leads to is missing")
    return found
