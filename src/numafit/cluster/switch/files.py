"""The kubelet's files on this node while it is stopped: kept, emptied, written and put back, each as a whole.

What is kept is a copy, in a folder that gets its name only when it is complete. So each of these can be done twice,
and the second time changes nothing.
"""

import os
import shutil
import tempfile
from pathlib import Path

from numafit.cluster.switch.journal import Journal, sync_folder
from numafit.errors import InputError
from numafit.ledger.files.checkpoint import RestoreError
from numafit.ledger.files.cpu import read_cpu
from numafit.ledger.files.device import read_device
from numafit.ledger.files.memory import read_memory
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE, STATE_FILES, state_path
from numafit.settings.versions import behaviour_of, parse_version

BEFORE = "before"
CONFIG = "config.yaml"


class KubeletFiles:
    """`root`: where the file system of the node is, whose paths the order has."""

    def __init__(self, journal: Journal, root: Path = Path("/")) -> None:
        self.order = journal.order
        self.folder = root / self.order.kubelet_dir.lstrip("/")
        self.config = root / self.order.config.lstrip("/")
        self.before = journal.kept / BEFORE

    def keep(self) -> str:
        """State files and configuration as they are now. Those that were kept before stay what they are."""
        if self.before.exists():
            return f"kept already in {self.before}"
        if self.config.read_bytes() != self.order.old_config.encode():
            why = "was changed since the plan was made"
            raise InputError(why, source=str(self.config), cure="make sure that nobody else writes it, and begin anew")
        self.before.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{BEFORE}-", dir=self.before.parent))
        names = []
        for name in STATE_FILES:
            path = state_path(self.folder, name)
            if path.exists():
                _copy(path, fresh / name)
                names.append(name)
        _copy(self.config, fresh / CONFIG)
        sync_folder(fresh)
        fresh.rename(self.before)
        sync_folder(self.before.parent)
        return f"{', '.join((*names, CONFIG))} in {self.before}"

    def clear(self) -> str:
        gone = []
        for name in self.order.moved:
            path = state_path(self.folder, name)
            if path.exists():
                path.unlink()
                sync_folder(path.parent)
                gone.append(name)
        return f"{', '.join(gone)} moved away" if gone else "nothing to move away"

    def write(self) -> str:
        return self._config(self.order.new_config)

    def restore(self) -> str:
        """The state and the configuration that were there; a state file that was not there goes."""
        if self.before.exists():
            for name in STATE_FILES:
                path, kept = state_path(self.folder, name), self.before / name
                if kept.exists():
                    _copy(kept, path)
                else:
                    path.unlink(missing_ok=True)
                sync_folder(path.parent)
        return self._config(self.order.old_config)

    def _config(self, text: str) -> str:
        # What a link leads to is the file.
        path = self.config.resolve()
        data = text.encode()
        if path.read_bytes() == data:
            return f"{self.config} says so already"
        write_like(path, data, path)
        return f"{self.config} written"

    def verify(self) -> str:
        """The state files of the kubelet that runs now. Raises InputError where one is not what it should be."""
        behaviour, gate = behaviour_of(parse_version(self.order.release)), self.order.pod_entries
        root = self.order.kubelet_dir
        for name in (*self.order.policies, DEVICE_FILE):
            path = state_path(self.folder, name)
            policy = self.order.policies.get(name, "")
            try:
                text = path.read_bytes().decode("utf-8", "surrogateescape")
                if name == CPU_FILE:
                    read_cpu(text, policy=policy, behaviour=behaviour, gate=gate, containers=(), state_dir=root)
                elif name == MEMORY_FILE:
                    read_memory(text, policy=policy, behaviour=behaviour, gate=gate, state_dir=root)
                else:
                    read_device(text, behaviour)
            except OSError as error:
                # No device was ever given: then there is none of these.
                if name != DEVICE_FILE:
                    why = f"the new kubelet has not written it: {error.strerror}"
                    raise InputError(why, source=str(path)) from None
            except RestoreError as error:
                raise InputError(f"is not what the new kubelet should write: {error}", source=str(path)) from None
        told = [f"{name} has the policy {policy}" for name, policy in self.order.policies.items()]
        return ", ".join(told) or "there are none to look at"


def write_like(path: Path, data: bytes, like: Path) -> None:
    """The whole file at once, with mode and owner of another one."""
    handle, name = tempfile.mkstemp(prefix=".numafit-", dir=path.parent)
    fresh = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            shutil.copymode(like, fresh)
            _own(fresh, like)
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    sync_folder(path.parent)


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    write_like(target, path.read_bytes(), path)


def _own(path: Path, like: Path) -> None:
    """Whoever may not give files away makes his own."""
    found = like.stat()
    if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
        os.chown(path, found.st_uid, found.st_gid)
