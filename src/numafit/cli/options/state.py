"""`--state`: the state files of a kubelet in the folder that it keeps them in."""

from pathlib import Path

from numafit.cli.files import read_state
from numafit.decision.start import Files
from numafit.errors import InputError, StartError, StartRefusedError
from numafit.ledger.state_files import CPU_FILE, DEVICE_PLUGINS, MEMORY_FILE, STATE_FILES
from numafit.managers.cpu.start import START as CPU_START
from numafit.managers.memory.start import START as MEMORY_START


def state_of(folder: Path) -> Files:
    if not folder.is_dir():
        raise InputError("is not a folder", source=str(folder), cure="name the kubelet's root, like /var/lib/kubelet")
    return {name: read_state(path) for name, path in state_paths(folder).items()}


def state_paths(folder: Path) -> dict[str, Path]:
    """The files that are there, as they lie in the kubelet's folder: the device manager's in one of its own."""
    paths = {}
    for name in STATE_FILES:
        for path in (folder / name, folder / DEVICE_PLUGINS / name):
            if path.exists():
                paths[name] = path
                break
    return paths


def state_refusal(error: StartError, folder: Path | None, source: str) -> StartRefusedError:
    """With the file that is to blame."""
    name = {CPU_START: CPU_FILE, MEMORY_START: MEMORY_FILE}.get(error.stage, "")
    if folder is None:
        return StartRefusedError(error, source=": ".join(part for part in (source, name) if part))
    cure = f"the safe way out: numafit doctor --kubelet-dir {folder}"
    return StartRefusedError(error, source=str(state_paths(folder).get(name, source)), cure=cure)
