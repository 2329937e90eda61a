"""The state files of simulated kubelets, each in a folder like /var/lib/kubelet: written at once."""

import os
from pathlib import Path

from numafit.decision.files import state_files
from numafit.decision.history.situation import Situation
from numafit.errors import InputError
from numafit.ledger.ledger import Ledger
from numafit.ledger.state_files import STATE_FILES, state_path


class StateFolder:
    """A file is replaced by a whole one or not at all. Nobody waits for the disk: who is killed loses nothing that he
    had told, only a machine that crashes may."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._written: Ledger | None = None
        for name in STATE_FILES:
            try:
                state_path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"cannot be made: {error.strerror or error}", source=str(folder)) from None

    def write(self, situation: Situation) -> None:
        """What changed since the last time."""
        ledger = situation.ledger
        if ledger is self._written:
            return
        for name, text in state_files(situation.node, ledger, self._written).items():
            _replace(state_path(self.folder, name), text)
        self._written = ledger


def _replace(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.write_bytes(text.encode("utf-8", "surrogateescape"))
        os.replace(fresh, path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", source=str(path)) from None
