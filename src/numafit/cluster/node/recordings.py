"""A folder of decisions that were not as expected, each a file for `numafit replay`; the oldest go when it is full."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

import msgspec

from numafit.errors import InputError
from numafit.replay.outcomes import Json

MOST = 100
ENDING = ".jsonl"


class RecordingFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        """Raises InputError where nothing can be kept in it: later is too late to say so."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            why = f"{self.folder}: cannot be written in: {error.strerror or error}"
            raise InputError(why, source="--recordings", cure="name another folder") from None

    def keep(self, case: Json, moment: str) -> Path:
        """A file appears whole. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        name = "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in f"{moment}-{case['id']}")
        path = self.folder / f"{name[:150]}{ENDING}"
        new = path.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(case) + b"\n")
        os.replace(new, path)
        for old in sorted(self.folder.glob(f"*{ENDING}"))[:-MOST]:
            with suppress(OSError):
                old.unlink()
        return path
