"""Reading what people name on the command line: files, folders, standard input."""

import sys
from collections.abc import Sequence
from pathlib import Path

from numafit.errors import InputError

MANIFESTS = (".yaml", ".yml", ".json")
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
        from numafit.document import not_utf8

        raise not_utf8(data, error.start, str(path)) from None


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
