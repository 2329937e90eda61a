"""A case as a folder: it appears whole or not at all, and is read back as it was written."""

import os
import shutil
import tempfile
from pathlib import Path

import msgspec

from numafit.cluster.case.case import (
    ABOUT,
    CLAIMS,
    KUBELET,
    MACHINE,
    NODE,
    PODS,
    PUBLISHED,
    README,
    TOPOLOGY,
    About,
    NodeCase,
    is_case,
)
from numafit.errors import InputError

FILES = {
    NODE: "the Node, as the API server has it",
    KUBELET: "what its kubelet answers to /configz",
    PODS: "the pods on it, as a list",
    TOPOLOGY: "its NodeResourceTopology",
    PUBLISHED: "its NodeTopology: what numafit's agent on it knows, and what its pods hold",
    CLAIMS: "the ResourceClaims of its pods, and the ResourceSlices of its devices",
    MACHINE: "its machine, as it was given",
    ABOUT: "where the rest comes from, and what lacks",
}


def write_case(case: NodeCase, folder: Path, *, force: bool = False) -> None:
    """`force`: what lies in an old case of that name is lost; any other folder is never touched."""
    if folder.exists() and not (force and is_case(folder)):
        others = "it is no case, so --force does not replace it" if force else "--force replaces a case"
        raise InputError("is there already", source=str(folder), cure=f"{others}; -o names another folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        for name, data in {**case.files, ABOUT: _about(case.about), README: readme(case).encode()}.items():
            with (fresh / name).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        # mkdtemp makes private folders; this one is an ordinary result.
        mask = os.umask(0)
        os.umask(mask)
        fresh.chmod(0o777 & ~mask)
        _put(fresh, folder)
    except OSError as error:
        raise _unwritable(folder, error) from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _put(fresh: Path, folder: Path) -> None:
    """In the place of an old one, which comes back if that fails."""
    old = fresh.with_name(f"{fresh.name}.old")
    replaced = folder.exists()
    if replaced:
        folder.rename(old)
    try:
        fresh.rename(folder)
    except OSError:
        if replaced:
            old.rename(folder)
        raise
    if old.is_symlink():
        # What it leads to lies elsewhere, and stays.
        old.unlink()
    elif replaced:
        shutil.rmtree(old)


def read_about(folder: Path) -> About:
    source = str(folder / ABOUT)
    try:
        with (folder / ABOUT).open("rb") as file:
            return msgspec.json.decode(file.read(), type=About)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=source) from None
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        cure = "a folder with a file of this name is one that `numafit node pull` wrote"
        raise InputError(f"tells of no node: {error}", source=source, cure=cure) from None


def readme(case: NodeCase) -> str:
    about = case.about
    lines = [
        f"# Node {about.node}",
        "",
        f"As its cluster told of it at {about.fetched}, written by numafit {about.numafit}. Commands take this folder:",
        "",
        "    numafit simulate FOLDER",
        "    numafit explain FOLDER --pod NAMESPACE/NAME",
        "",
        *(f"- `{name}`: {what}" for name, what in FILES.items() if name in case.files or name == ABOUT),
        "",
        "Not known:" if about.notes else "Everything that was asked for was told.",
        *(("",) if about.notes else ()),
        *(f"- {note.about}: {note.text}." for note in about.notes),
        "",
        "Taken out, and how often:" if about.removed else "Nothing was taken out.",
        *(("",) if about.removed else ()),
        *(f"- {what}: {count}" for what, count in about.removed.items()),
        "",
        "Names stay: of the node, of pods and labels, of images and of environment variables. Look before you send it.",
    ]
    return "\n".join(lines) + "\n"


def _about(about: About) -> bytes:
    return msgspec.json.format(msgspec.json.encode(about), indent=2) + b"\n"


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(f"cannot be written: {error.strerror or error}", source=str(folder))
