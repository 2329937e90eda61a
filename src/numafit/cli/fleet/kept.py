"""What there is of plays that were stopped, in a file: written whole or not at all, and only for the same command."""

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec.structs import replace

from numafit import __version__
from numafit.cli.files import read_bytes, write_whole
from numafit.cli.fleet.plays import PlayedRule, Playing
from numafit.errors import InputError

FORMAT = "numafit/fleet-run/v2"


class KeptPlays(msgspec.Struct, frozen=True):
    format: str
    made_by: str
    """The release of numafit."""
    input: str
    """Digest of nodes, pods and options."""
    plays: Mapping[str, PlayedRule]


def input_digest(playing: Playing, more: object = ()) -> str:
    digest = blake2b(repr((replace(playing, pods=()), more)).encode(), digest_size=16)
    # One by one: as one text, a hundred thousand pods take as much memory as playing them.
    for pod in playing.pods:
        digest.update(repr(pod).encode())
    return digest.hexdigest()


def read_kept(path: Path, playing: Playing, more: object = ()) -> Mapping[str, PlayedRule]:
    """Nothing where there is no file yet. `more`: what else of the command has to be the same. Raises
    InputError where it was written for something else."""
    if not path.exists():
        return {}
    source = str(path)
    try:
        kept = msgspec.json.decode(read_bytes(path), type=KeptPlays)
    except msgspec.MsgspecError as error:
        cure = "name a file that is not there yet, or one that a stopped run left"
        raise InputError(f"is no run that was stopped: {error}", source=source, cure=cure) from None
    if (kept.format, kept.made_by, kept.input) != (FORMAT, __version__, input_digest(playing, more)):
        cure = "remove it to begin again, or give the same files and options"
        raise InputError(
            "was left by a run of other nodes, pods or options, or by another release", source=source, cure=cure
        )
    return kept.plays


def write_kept(path: Path, playing: Playing, plays: Mapping[str, PlayedRule], more: object = ()) -> None:
    kept = KeptPlays(FORMAT, __version__, input_digest(playing, more), plays)
    write_whole(path, msgspec.json.encode(kept))
