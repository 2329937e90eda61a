"""etcd and the programs of Kubernetes, wherever somebody put them."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from numafit.errors import InputError

ETCD, API_SERVER = "etcd", "kube-apiserver"
CONTROLLER_MANAGER, SCHEDULER = "kube-controller-manager", "kube-scheduler"
CONTROL_PLANE = (ETCD, API_SERVER, CONTROLLER_MANAGER, SCHEDULER)
"""In the order in which they start."""
VARIABLE = "NUMAFIT_KUBE_BINARIES"
CURE = f"docs/cluster-up.md says where to get them; name their folder with --binaries or {VARIABLE}"


def found_programs(folder: Path | None, names: Sequence[str] = CONTROL_PLANE) -> dict[str, Path]:
    """In that folder first, then on the PATH: a release of Kubernetes brings no etcd."""
    if folder is not None and not folder.is_dir():
        raise InputError("there is no such folder", source=str(folder), cure=CURE)
    path = os.pathsep.join([*([str(folder)] if folder else []), os.environ.get("PATH", os.defpath)])
    found = {name: shutil.which(name, path=path) for name in names}
    lacking = [name for name, own in found.items() if own is None]
    if lacking:
        where = f"neither in {folder} nor on the PATH" if folder else "not on the PATH"
        raise InputError(f"{_list(lacking)} {'is' if len(lacking) == 1 else 'are'} {where}", cure=CURE)
    return {name: Path(own).absolute() for name, own in found.items() if own}


def openssl() -> str:
    """The program that makes certificates."""
    found = shutil.which("openssl")
    if found is None:
        raise InputError(
            "the program openssl is not on the PATH, which makes the certificates of the cluster",
            cure="install it (Debian, Ubuntu: apt install openssl)",
        )
    return found


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
