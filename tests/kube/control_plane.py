"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler on loopback, in a folder of their own."""

import subprocess
from pathlib import Path
from types import TracebackType

import httpx

from tests.kube.api import Api
from tests.kube.certificates import Authority
from tests.kube.processes import free_ports, start, stop, until

READY_SECONDS = 90
MASTERS = "system:masters"
SERVICES = "10.96.0.0/24"


class ControlPlane:
    """RBAC and the Node authorizer decide; `api` speaks as a member of system:masters, whom both let pass."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self.folder = folder
        self.binaries = binaries
        self.logs = folder / "logs"
        self.logs.mkdir(parents=True)
        self.authority = Authority(folder / "pki")
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.server = ""
        self.api: Api

    def __enter__(self) -> "ControlPlane":
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _start(self) -> None:
        client, peer, secure = free_ports(3)
        own = self.authority
        self.server = f"https://127.0.0.1:{secure}"
        names = "DNS:kubernetes.default.svc,DNS:localhost,IP:127.0.0.1,IP:10.96.0.1"
        serving = own.issue("apiserver", "kube-apiserver", addresses=names)
        accounts = own.issue("accounts", "service-accounts")
        self.api = Api(self.server, own.certificate, *own.issue("admin", "admin", MASTERS))
        self.kubeconfig = own.kubeconfig("admin-file", self.server, "admin", MASTERS)
        etcd = f"http://127.0.0.1:{client}"
        self.run(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            *(f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}"),
            *(f"--listen-peer-urls=http://127.0.0.1:{peer}", "--unsafe-no-fsync"),
        )
        self.run(
            "kube-apiserver",
            *(f"--etcd-servers={etcd}", "--bind-address=127.0.0.1", f"--secure-port={secure}"),
            *(f"--service-cluster-ip-range={SERVICES}", "--authorization-mode=Node,RBAC", "--allow-privileged"),
            *(f"--tls-cert-file={serving[0]}", f"--tls-private-key-file={serving[1]}"),
            *(f"--client-ca-file={own.certificate}", "--service-account-issuer=https://kubernetes.default.svc"),
            *(f"--service-account-key-file={accounts[0]}", f"--service-account-signing-key-file={accounts[1]}"),
            *("--enable-admission-plugins=NodeRestriction", "--shutdown-delay-duration=0s", "--profiling=false"),
            "--endpoint-reconciler-type=none",
        )
        until("the API server is ready", READY_SECONDS, self._is_ready)
        for name, user, more in (
            (
                "kube-controller-manager",
                "system:kube-controller-manager",
                (
                    f"--service-account-private-key-file={accounts[1]}",
                    f"--root-ca-file={own.certificate}",
                    "--use-service-account-credentials",
                ),
            ),
            ("kube-scheduler", "system:kube-scheduler", ()),
        ):
            path = own.kubeconfig(name, self.server, user)
            self.run(name, f"--kubeconfig={path}", "--leader-elect=false", "--secure-port=0", *more)
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        until("the default account is there", READY_SECONDS, lambda: self.api.get(account))

    def run(self, program: str, *flags: str) -> None:
        self.processes[program] = start([str(self.binaries / program), *flags], self.logs / f"{program}.log")

    def _is_ready(self) -> bool:
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise RuntimeError(f"{name} ended: {self.log(name)[-2000:]}")
        try:
            return self.api.ask("GET", "/readyz").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def log(self, program: str) -> str:
        return (self.logs / f"{program}.log").read_text(errors="replace")

    def api_as(self, name: str, user: str, group: str = "") -> Api:
        """For somebody whom RBAC knows."""
        return Api(self.server, self.authority.certificate, *self.authority.issue(name, user, group))

    def stop(self) -> None:
        if hasattr(self, "api"):
            self.api.close()
        for process in reversed(self.processes.values()):
            # nothing of it is needed any more, and an API server takes its time to end
            process.kill()
        for process in self.processes.values():
            stop(process)
