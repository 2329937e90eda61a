"""A scheduler of its own beside the stock one, which asks an extender; pods choose it by its name."""

import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

from numafit.cluster.up.programs import SCHEDULER
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import free_ports, start, stop, until

NAME = "aligned"


class ExtenderProcess:
    def __init__(self, kubeconfig: Path, folder: Path, *options: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.kubeconfig, self.options, self.log = kubeconfig, options, folder / "extender.log"
        self.port, self.metrics_port = free_ports(2)
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    def start(self) -> None:
        command = [sys.executable, "-m", "numafit", "extender", f"--kubeconfig={self.kubeconfig}"]
        ports = [f"--port={self.port}", f"--metrics-port={self.metrics_port}", "--address=127.0.0.1"]
        self.process = start([*command, *ports, *self.options], self.log)
        until("the extender is ready", 60, self._ready)

    def _ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()
        with suppress(OSError):
            return bool(self.asked("/readyz"))
        return False

    def asked(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}{path}", timeout=5) as answer:
            text: str = answer.read().decode()
            return text

    def counted(self, name: str) -> float:
        """`name`: with its labels."""
        lines = (line.rpartition(" ") for line in self.asked("/metrics").splitlines())
        return next((float(value) for own, _, value in lines if own == f"numafit_extender_{name}"), 0.0)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> int | None:
        assert self.process is not None
        stop(self.process)
        return self.process.returncode


def printed(*options: str) -> Json:
    """What `numafit scheduler-config` says."""
    command = [sys.executable, "-m", "numafit", "scheduler-config", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    content: Json = yaml.safe_load(done.stdout)
    return content


@contextmanager
def scheduler(cluster: ControlPlane, folder: Path, options: Sequence[str]) -> Iterator[Path]:
    """With that configuration, unchanged; its log."""
    folder.mkdir(parents=True, exist_ok=True)
    access = cluster.authority.kubeconfig(SCHEDULER, cluster.server, f"system:{SCHEDULER}")
    content = printed(*options, f"--scheduler={NAME}", f"--scheduler-kubeconfig={access}")
    file, log = folder / "scheduler.yaml", folder / "scheduler.log"
    file.write_text(yaml.safe_dump(content))
    flags = [f"--config={file}", "--leader-elect=false", "--secure-port=0"]
    process = start([str(cluster.programs[SCHEDULER]), *flags], log)
    try:
        yield log
        assert process.poll() is None, log.read_text()[-3000:]
    finally:
        process.kill()
        process.wait()


class Nuisance:
    """A server that answers all who come with the same words, or not at all."""

    def __init__(self, words: bytes | None) -> None:
        self.words, self.asked = words, 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                own, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(own,), daemon=True).start()

    def _answer(self, own: socket.socket) -> None:
        self._open.append(own)
        with suppress(OSError):
            while own.recv(1 << 20):
                self.asked += 1
                if self.words is not None:
                    own.sendall(self.words)

    def close(self) -> None:
        self._socket.close()
        for own in self._open:
            own.close()
