"""Who holds what, from the kubelet's three state files; what is damaged leaves the last good value standing."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from numafit.decision.stage import Stage
from numafit.decision.start import again, start
from numafit.decision.written import as_written
from numafit.errors import InputError, StartError
from numafit.ledger.ledger import Ledger
from numafit.ledger.state_files import DEVICE_FILE, read_state_files
from numafit.notes import Note
from numafit.workload.pod import Pod

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

    def read(self, folder: Path, stage: Stage, active: Mapping[str, Pod] | None) -> KubeletState:
        """`stage` is the node with nobody on it; `active` are its pods, None where nobody tells: then whoever holds
        something counts. Raises InputError where nothing of it was ever good."""
        files: dict[str, str] = {}
        try:
            files = read_state_files(folder)
            state = _state(files, stage, active, str(folder))
        except InputError as error:
            if self._last is None or self._last[0] != folder:
                raise
            state = _state(self._last[1], stage, active, str(folder))
            text = f"its state is that of before: {error}"
            return msgspec.structs.replace(state, notes=(Note(NOT_LEARNT, "node", text), *state.notes), good=False)
        self._last = folder, files
        return state


def _state(files: Mapping[str, str], stage: Stage, active: Mapping[str, Pod] | None, source: str) -> KubeletState:
    known = again(stage.node, files) if active is None else again(stage.node, files, active=dict(active))
    try:
        started = start(known)
    except StartError as error:
        ledger = as_written(stage.node, files, source)
        if active is not None:
            ledger = msgspec.structs.replace(ledger, active=dict(active))
        text = f"a kubelet would not start over its state: {error.message}"
        return KubeletState(files, ledger, (Note(NOT_LEARNT, "node", text),), good=False)
    unread = started.device_state[1]
    if unread:
        raise InputError(unread, source=f"{source}: {DEVICE_FILE}")
    return KubeletState(files, started.ledger)


def holders(files: Mapping[str, str], stage: Stage) -> frozenset[str]:
    """UIDs that stand in the files; none of those that cannot be read."""
    try:
        state = _state(files, stage, None, "")
    except InputError:
        return frozenset()
    return frozenset(state.ledger.active)
