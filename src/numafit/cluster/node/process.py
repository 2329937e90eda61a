"""The kubelet that runs on a node: its command line, and the files that this names."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from numafit.errors import InputError
from numafit.settings.read.arguments import Argument
from numafit.settings.read.loader import ConfigFile, ConfigSources

KUBELET_FOLDER = "/var/lib/kubelet"
USUAL_CONFIG = f"{KUBELET_FOLDER}/config.yaml"
"""Where kubeadm puts it; looked at where nobody tells."""
LARGEST_CONFIG = 4 << 20
_STARTED = 19
"""Of the fields behind the name in /proc/PID/stat: when the process began."""


class RunningKubelet(msgspec.Struct, frozen=True):
    id: int
    started: int
    """In ticks since the machine booted; another kubelet has another."""
    arguments: tuple[str, ...]
    """Without the program."""

    def flag(self, name: str) -> str:
        """Its last value; empty where it is not given."""
        value = ""
        for index, text in enumerate(self.arguments):
            if text == f"--{name}":
                value = self.arguments[index + 1] if index + 1 < len(self.arguments) else ""
            elif text.startswith(f"--{name}="):
                value = text.partition("=")[2]
        return value

    @property
    def folder(self) -> str:
        return self.flag("root-dir") or KUBELET_FOLDER


def find_kubelet(root: Path, node: str) -> tuple[RunningKubelet | None, str]:
    """The kubelet of this node among the processes of a host, or why there is none.

    One that says by --hostname-override that it is another node's is another's.
    """
    found = list(_kubelets(root / "proc"))
    named = [each for each in found if each.flag("hostname-override") == node]
    fitting = named or [each for each in found if not each.flag("hostname-override")]
    if len(fitting) == 1:
        return fitting[0], ""
    if fitting:
        return None, f"{len(fitting)} kubelets run here, and nothing tells which is that of {node}"
    hidden = "no process is called kubelet (are the processes of the host visible?)"
    others = (
        f"{len(found)} kubelets run here, of other nodes" if len(found) > 1 else "a kubelet runs here, of another node"
    )
    return None, others if found else hidden


def config_sources(root: Path, process: RunningKubelet | None, named: str = "") -> ConfigSources | None:
    """What an administrator wrote, as files below `root`; None where no file is found.

    `named`: the configuration file, where somebody knows it better than the command line. Raises InputError for a file
    that is named, and cannot be read.
    """
    arguments = () if process is None else tuple(Argument(text) for text in process.arguments)
    named = named or ("" if process is None else process.flag("config"))
    if not named:
        usual = root / USUAL_CONFIG.lstrip("/")
        if process is not None:
            return ConfigSources(None, None, arguments, "kubelet")
        return ConfigSources(ConfigFile(USUAL_CONFIG, _text(usual))) if usual.is_file() else None
    file = ConfigFile(named, config_text(root, named))
    folder = process.flag("config-dir") if process is not None else ""
    drop_ins = tuple(_drop_ins(root, folder)) if folder else None
    return ConfigSources(file, drop_ins, arguments, "kubelet")


def config_text(root: Path, named: str) -> str:
    """Raises InputError where it cannot be read."""
    return _text(_below(root, named))


def _below(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _drop_ins(root: Path, folder: str) -> Iterator[ConfigFile]:
    top = _below(root, folder)
    for path in sorted(top.rglob("*.conf")):
        if path.is_file():
            yield ConfigFile(f"{folder.rstrip('/')}/{path.relative_to(top)}", _text(path))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_CONFIG + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=str(path)) from None
    if len(data) > LARGEST_CONFIG:
        raise InputError(f"more than {LARGEST_CONFIG >> 20} MiB", source=str(path))
    return data.decode("utf-8", "replace")


def _kubelets(proc: Path) -> Iterator[RunningKubelet]:
    try:
        entries = sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdigit())
    except OSError:
        return
    for number in entries:
        # A process may end while it is looked at.
        with suppress(OSError, IndexError, ValueError):
            words = (proc / str(number) / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:-1]
            if not _is_kubelet(words):
                continue
            fields = (proc / str(number) / "stat").read_text().rpartition(")")[2].split()
            yield RunningKubelet(number, int(fields[_STARTED]), tuple(_arguments(words)))


def _is_kubelet(words: Sequence[str]) -> bool:
    program = words[0].rpartition("/")[2] if words else ""
    return program == "kubelet" or (program == "hyperkube" and words[1:2] == ["kubelet"])


def _arguments(words: Sequence[str]) -> Sequence[str]:
    return words[2:] if words[0].endswith("hyperkube") else words[1:]
