"""A Docker engine of the tests' own: its data, its socket and its processes lie apart from any other on the host."""

import io
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tests.packages import PATH, program

IMAGE = "numafit-test"
TOOLS = ("sh", "cat", "sleep", "grep", "env", "kill", "true")
START_SECONDS = 30.0


def image_archive() -> bytes:
    """One program and links to it."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.add(os.path.realpath(program("busybox")), "bin/busybox")
        for name in TOOLS:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
    return data.getvalue()


def first_core() -> str:
    """The CPUs of the first core, as the kernel lists them: what one CPU becomes in whole cores."""
    return Path("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list").read_text().strip()


class Engine:
    def __init__(self) -> None:
        # A path in there must fit the name of a socket, which has 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="numafit-docker-", dir="/tmp"))
        self.address = f"unix://{self.folder}/socket"
        self.process: subprocess.Popen[bytes] | None = None
        self.containerd: subprocess.Popen[bytes] | None = None

    def start(self, *flags: str) -> None:
        if self.containerd is None:
            # Of its own, as a system has it: one that dockerd starts would end with it.
            settings = self.folder / "containerd.toml"
            settings.write_text('version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n')
            self.containerd = self._program(
                "containerd",
                f"--config={settings}",
                f"--address={self.folder}/containerd.sock",
                f"--root={self.folder}/containerd",
                f"--state={self.folder}/containerd-state",
            )
        self.process = self._program(
            "dockerd",
            "--storage-driver=vfs",
            f"--containerd={self.folder}/containerd.sock",
            f"--data-root={self.folder}/data",
            f"--exec-root={self.folder}/exec",
            f"--pidfile={self.folder}/pid",
            f"--host={self.address}",
            "--bridge=none",
            "--iptables=false",
            "--ip6tables=false",
            *flags,
        )
        end = time.monotonic() + START_SECONDS
        while self.docker("version", check=False).returncode:
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"dockerd does not start: {(self.folder / 'log').read_text()[-1000:]}")
            time.sleep(0.1)

    def _program(self, name: str, *words: str) -> "subprocess.Popen[bytes]":
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [program(name), *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PATH": PATH},
                start_new_session=True,
            )

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        try:
            self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        # A dockerd that was killed leaves its process id behind, and would take any other process for itself.
        (self.folder / "pid").unlink(missing_ok=True)

    def docker(self, *words: str, check: bool = True, data: bytes | None = None) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [program("docker"), *words],
            env={**os.environ, "DOCKER_HOST": self.address},
            input=data,
            capture_output=True,
            timeout=60,
            check=False,
        )
        text = subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
        assert not check or not done.returncode, text
        return text

    def make_image(self) -> None:
        self.docker("import", "-", IMAGE, data=image_archive())

    def remove_containers(self) -> None:
        ids = self.docker("ps", "-aq", check=False).stdout.split()
        if ids:
            self.docker("rm", "-f", *ids, check=False)

    def state(self, name: str) -> str:
        return self.docker("inspect", "--format", "{{.State.Status}}", name, check=False).stdout.strip()

    def close(self) -> None:
        with suppress(Exception):
            self.remove_containers()
        if self.process is not None and self.process.poll() is None:
            self.stop()
        if self.containerd is not None:
            self.containerd.terminate()
            self.containerd.wait(START_SECONDS)
        # Shims outlive all others.
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for line in Path("/proc/self/mounts").read_text().splitlines():
            if str(self.folder) in line:
                subprocess.run(["umount", "-l", line.split()[1]], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def processes(self) -> list[int]:
        """Those that were started for this engine: its folder stands in their command lines."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if str(self.folder).encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                    found.append(int(path.parent.name))
        return found
