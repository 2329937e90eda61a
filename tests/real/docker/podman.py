"""Podman with storage and settings of the tests' own."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.packages import PATH, install_packages, program
from tests.real.docker.engine import IMAGE, image_archive

PROGRAMS = {"podman": "podman", "conmon": "conmon", "runc": "runc", "busybox": "busybox-static"}


def missing() -> str:
    """Installs what is missing; then one sentence on what this machine still lacks."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "only root of a Linux machine can run these containers"
    if len(os.sched_getaffinity(0)) < 2:
        return "two CPUs are needed, and this process may use one"
    packages = sorted({package for name, package in PROGRAMS.items() if not program(name)})
    failed = install_packages(packages) if packages else ""
    left = sorted({package for name, package in PROGRAMS.items() if not program(name)})
    return failed or (f"packages are not installed: apt-get install {' '.join(left)}" if left else "")


class Podman:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = folder / "ledger"
        (folder / "storage.conf").write_text(
            f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/root"\nrunroot = "{folder}/run"\n'
        )
        # Where root may not raise limits, Podman's own are refused; a network needs programs that are not there.
        (folder / "containers.conf").write_text(
            '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]\nnetns = "none"\n'
            '[engine]\ncgroup_manager = "cgroupfs"\nruntime = "runc"\nevents_logger = "none"\n'
        )

    @property
    def environment(self) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("NUMAFIT_")},
            "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf"),
            "CONTAINERS_CONF": str(self.folder / "containers.conf"),
            "DOCKER_HOST": "unix:///nonexistent/socket",
            "NUMAFIT_STATE": str(self.ledger),
            "PATH": PATH,
        }

    def prepare(self) -> str:
        """Why no container can run here; empty when one has."""
        archive = self.folder / "image.tar"
        archive.write_bytes(image_archive())
        for words in (("import", str(archive), IMAGE), ("run", "--rm", IMAGE, "true")):
            done = self(*words, check=False)
            if done.returncode:
                return f"containers of Podman cannot run here: {done.stderr.strip()[-300:]}"
        return ""

    def __call__(self, *words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        return self._run([program("podman"), *words], check=check)

    def numafit(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return self._run([sys.executable, "-m", "numafit", *words], check=False)

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, "-m", "numafit", *words], env=self.environment, **quiet)

    def _run(self, line: list[str], *, check: bool) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            line,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert not check or not done.returncode, done
        return done

    def leases(self) -> list[dict[str, object]]:
        done = self.numafit("ps", "-o", "json")
        assert done.returncode == 0, done.stderr
        found: list[dict[str, object]] = json.loads(done.stdout)["leases"]
        return found

    def state(self, name: str) -> str:
        return self("inspect", "--format", "{{.State.Status}}", name, check=False).stdout.strip()

    def _first(self, name: str) -> Path:
        return Path(f"/proc/{self('inspect', '--format', '{{.State.Pid}}', name).stdout.strip()}")

    def cpus_of(self, name: str) -> str:
        lines = (self._first(name) / "status").read_text().splitlines()
        return next(line.split()[1] for line in lines if line.startswith("Cpus_allowed_list:"))

    def cpuset_of(self, name: str) -> str:
        """The file of the cgroup that the first process is in."""
        for line in (self._first(name) / "cgroup").read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            if "cpuset" in controllers.split(","):
                return Path(f"/sys/fs/cgroup/cpuset{group}/cpuset.effective_cpus").read_text().strip()
            if not controllers and Path(f"/sys/fs/cgroup{group}/cpuset.cpus.effective").exists():
                return Path(f"/sys/fs/cgroup{group}/cpuset.cpus.effective").read_text().strip()
        return ""

    def remove_containers(self) -> None:
        self("rm", "-fa", "-t", "0", check=False)

    def close(self) -> None:
        self.remove_containers()
        self("rmi", "-fa", check=False)
