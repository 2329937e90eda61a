"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler on loopback, in a folder of their own."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

import msgspec

from numafit.cluster.up.certificates import Authority
from numafit.cluster.up.flags import (
    PORTS,
    SERVER_NAMES,
    STORE_NAMES,
    Endpoints,
    api_server_flags,
    client_flags,
    controller_manager_flags,
    etcd_flags,
    store_flags,
)
from numafit.cluster.up.folder import ClusterFolder
from numafit.cluster.up.probe import ApiProbe
from numafit.cluster.up.processes import Awaited, start, stop, until
from numafit.cluster.up.programs import API_SERVER, CONTROLLER_MANAGER, ETCD, SCHEDULER
from numafit.errors import InputError

READY_SECONDS = 90
MASTERS = "system:masters"
ADMIN = "admin"
KUBECONFIG = "kubeconfig"
DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
"""Without it no pod can be made: the controller manager has come to work."""
LAST_LINES, LAST_CHARACTERS = 3, 1200


class RunningProgram(msgspec.Struct, frozen=True):
    path: str
    pid: int
    log: str


class ControlPlane:
    """RBAC and the Node authorizer decide; `kubeconfig` is that of a member of system:masters, whom both let pass.

    It starts on entering and is gone on leaving. All its programs die with the thread that entered it.
    """

    def __init__(
        self, folder: ClusterFolder, programs: Mapping[str, Path], tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self.state, self.folder, self.programs, self.tell = folder, folder.path, programs, tell
        self.logs = self.folder / "logs"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.kubeconfig = self.folder / KUBECONFIG
        self.authority: Authority
        self.probe: ApiProbe
        self.server = ""
        self.release = ""

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _start(self) -> None:
        self.tell("certificates")
        ends = Endpoints(*self.state.ports(PORTS))
        self.logs.mkdir(exist_ok=True)
        self.authority = own = Authority(self.folder / "pki")
        serving = own.issue("apiserver", API_SERVER, addresses=SERVER_NAMES)
        accounts = own.issue("accounts", "service-accounts")
        self.server = ends.server
        self.probe = ApiProbe(ends.secure, own.certificate, *own.issue(ADMIN, ADMIN, MASTERS))
        # An authority of its own: no certificate of the cluster opens it.
        of_etcd = Authority(own.folder / "etcd")
        store = of_etcd.issue(ETCD, ETCD, addresses=STORE_NAMES)
        self.run(ETCD, etcd_flags(ends, self.folder / "etcd", of_etcd.certificate, store, durable=self.state.kept))
        answers = api_server_flags(ends, own.certificate, serving, accounts)
        self.run(API_SERVER, [*answers, *store_flags(of_etcd.certificate, store)])
        self.wait_for("the API server is ready", lambda: self.probe.text("/readyz"))
        manager = own.kubeconfig(CONTROLLER_MANAGER, self.server, f"system:{CONTROLLER_MANAGER}")
        self.run(CONTROLLER_MANAGER, controller_manager_flags(manager, own.certificate, accounts))
        scheduler = own.kubeconfig(SCHEDULER, self.server, f"system:{SCHEDULER}")
        self.run(SCHEDULER, client_flags(scheduler))
        self.release = self.wait_for("the API server tells its release", lambda: self.probe.get("/version"))[
            "gitVersion"
        ]
        self.wait_for("there is an account for pods", lambda: self.probe.get(DEFAULT_ACCOUNT))
        # Last: who waits for this file finds a cluster.
        own.kubeconfig(ADMIN, self.server, ADMIN, MASTERS, self.kubeconfig)

    def run(self, name: str, flags: Sequence[str]) -> None:
        self.start(name, [str(self.programs[name]), *flags])

    def start(self, name: str, command: Sequence[str]) -> None:
        """One more program, which is watched and ends with the others."""
        self.tell(name)
        log = self.logs / f"{name}.log"
        if log.exists():
            log.replace(log.with_suffix(".log.before"))
        try:
            self.processes[name] = start(command, log)
        except OSError as error:
            raise InputError(f"cannot be started: {error.strerror}", source=command[0]) from None

    def wait_for(self, what: str, found: Callable[[], Awaited | None], seconds: float = READY_SECONDS) -> Awaited:
        """What `found` returns as soon as that is something; an error where a program ends meanwhile."""

        def found_while_all_run() -> Awaited | None:
            self.check()
            return found()

        try:
            return until(what, seconds, found_while_all_run)
        except TimeoutError:
            # The one that was started last is what everybody waits for.
            name = list(self.processes)[-1]
            raise InputError(
                f"after {seconds} seconds it is still not so that {what}; {self._last_words(name)}"
            ) from None

    def check(self) -> None:
        """All of them run."""
        for name, process in self.processes.items():
            status = process.poll()
            if status is not None:
                how = f"with status {status}" if status >= 0 else f"by signal {-status}"
                raise InputError(f"{name} ended {how}; {self._last_words(name)}", cure=self._where(name))

    def watch(self, seconds: float = 0.5) -> NoReturn:
        """Returns never; an error where a program ends."""
        while True:
            self.check()
            time.sleep(seconds)

    def log(self, name: str) -> str:
        return (self.logs / f"{name}.log").read_text(errors="replace")

    def _last_words(self, name: str) -> str:
        lines = [line for line in self.log(name).splitlines() if line.strip()][-LAST_LINES:]
        return f"the end of its log: {' / '.join(lines)[-LAST_CHARACTERS:]}" if lines else "its log is empty"

    def _where(self, name: str) -> str:
        return f"the whole log: {self.logs / name}.log" if self.state.kept else "--state DIR keeps the whole log"

    def running(self) -> dict[str, RunningProgram]:
        return {
            name: RunningProgram(str(self.programs.get(name, "")), process.pid, str(self.logs / f"{name}.log"))
            for name, process in self.processes.items()
        }

    def stop(self) -> None:
        """Those that were started last end first. Only etcd and what is not ours have something to put in order; an
        API server would take its time."""
        for name, process in reversed(self.processes.items()):
            if name in (API_SERVER, CONTROLLER_MANAGER, SCHEDULER) or (name == ETCD and not self.state.kept):
                process.kill()
            stop(process)
