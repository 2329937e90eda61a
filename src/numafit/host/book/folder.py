"""Which ledger is meant: the host's, or one of the user's own."""

import grp
import os
from contextlib import suppress
from pathlib import Path

from numafit.errors import InputError
from numafit.host.book.store import FILE

SYSTEM = Path("/var/lib/numafit")
VARIABLE = "NUMAFIT_STATE"
GROUP = "numafit"

SHARED_FOLDER = 0o3770
"""What is made in there belongs to the group, and only its owner may take it away: nobody replaces `host.yaml`."""


class NoLedgerError(InputError):
    """There is no place for a ledger, or it may not be written."""


NOT_SHARED = (
    "this ledger is yours alone: what other users of this host hold is not seen, nor by them what you hold "
    "(`numafit host setup`, once by root, makes one for all)"
)


def ledger_folder(chosen: Path | None = None, system: Path = SYSTEM, *, reading: bool = False) -> Path:
    """The folder that was chosen, by option or variable; else the host's for root and where there is one, else the
    user's own. It is absolute: who watches over its queue leaves the folder where he was started. For `reading`
    it need not be one that the user may write."""
    if chosen is None and os.environ.get(VARIABLE):
        chosen = Path(os.environ[VARIABLE])
    if chosen is not None:
        return chosen.absolute()
    if os.geteuid() == 0:
        return system
    if _is_there(system):
        if not reading and not (os.access(system / FILE, os.W_OK) and os.access(system, os.W_OK)):
            raise NoLedgerError(
                f"this host has a ledger that user {os.getuid()} may not write",
                source=str(system),
                cure=_how_to_join(),
            )
        return system
    # A home may be shared by several hosts, and process ids mean nothing on another one.
    return _state_home().absolute() / "numafit" / os.uname().nodename


def is_private(chosen: Path | None = None, system: Path = SYSTEM) -> bool:
    """Whether the ledger that is meant is the user's own without his having said so."""
    return chosen is None and VARIABLE not in os.environ and bool(os.geteuid()) and not _is_there(system)


def _is_there(system: Path) -> bool:
    return _is_hidden(system) or os.path.exists(system / FILE)


def _how_to_join() -> str:
    own = f"a ledger of your own, {VARIABLE}=…, knows of no others"
    try:
        grp.getgrnam(GROUP)
    except KeyError:
        return f"`numafit host setup`, once by root, shares it; {own}"
    return f"join the group {GROUP} and log in again; {own}"


def _state_home() -> Path:
    chosen = os.environ.get("XDG_STATE_HOME")
    if chosen:
        return Path(chosen)
    try:
        return Path.home() / ".local/state"
    except RuntimeError:
        # A number without an entry in the list of users, as containers are often started with.
        raise NoLedgerError(f"user {os.getuid()} has no home for a ledger", cure=f"set HOME or {VARIABLE}") from None


def _is_hidden(folder: Path) -> bool:
    # Path.is_dir would raise where a folder above may not be looked into.
    return os.path.isdir(folder) and not os.access(folder, os.X_OK)


def make_folder(folder: Path, system: Path = SYSTEM) -> int | None:
    """Make the folder if it is missing, for the user or the group alone: whoever may open a file can lock it, and hold
    up its users for as long as he likes. Returns the group that shares the ledger, for the host's."""
    group = None
    if folder == system and os.geteuid() == 0:
        with suppress(KeyError):
            group = grp.getgrnam(GROUP).gr_gid
    try:
        if not folder.is_dir():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if group is not None:
                os.chown(folder, -1, group)
                os.chmod(folder, SHARED_FOLDER)
    except OSError as error:
        cure = f"--state-dir or {VARIABLE} names a folder that you may write"
        raise NoLedgerError(f"cannot be made: {error.strerror}", source=str(folder), cure=cure) from None
    return group
