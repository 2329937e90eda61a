"""Who holds what, from the kubelet's three state files; what is damaged leaves the last good value standing."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from numafit.decision.stage import Stage
from numafit.decision.start import again, start
from numafit.decision.written import as_written
from numafit.errors import InputError, StartError
from numafit.ledger.ledger import Ledger
from numafit.ledger.state_files import DEVICE_FILE, read_state_files
from numafit.notes import Note

NOT_LEARNT = "node-not-learnt"


class KubeletState(msgspec.Struct, frozen=True):
    files: Mapping[str, str]
    ledger: Ledger
    notes: tuple[Note, ...] = ()
    good: bool = True
    """A kubelet would start over it."""


class StateReader:
    def __init__(self) -> None:
        self._last: tuple[Path, dict[str, str]] | None = None
        """The last files that could be read."""

    def read(self, folder: Path, stage: Stage) -> KubeletState:
        """`stage` is the node with nobody on it. Whoever holds something counts as active, as far as the files tell of
        him. Raises InputError where nothing of it was ever good."""
        files: dict[str, str] = {}
        try:
            files = read_state_files(folder)
            state = _state(files, stage, str(folder))
        except InputError as error:
            if self._last is None or self._last[0] != folder:
                raise
            state = _state(self._last[1], stage, str(folder))
            text = f"its state is that of before: {error}"
            return replace(state, notes=(Note(NOT_LEARNT, "node", text), *state.notes), good=False)
        self._last = folder, files
        return state


def _state(files: Mapping[str, str], stage: Stage, source: str) -> KubeletState:
    try:
        started = start(again(stage.node, files))
    except StartError as error:
        text = f"a kubelet would not start over its state: {error.message}"
        ledger = as_written(stage.node, files, source)
        return KubeletState(files, ledger, (Note(NOT_LEARNT, "node", text),), good=False)
    unread = started.device_state[1]
    if unread:
        raise InputError(unread, source=f"{source}: {DEVICE_FILE}")
    return KubeletState(files, started.ledger)
