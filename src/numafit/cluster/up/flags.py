"""What the programs of a control plane are told. All of them listen on loopback, or not at all."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from numafit.cluster.up.ports import LOOPBACK

SERVICES = "10.96.0.0/24"
STORE_NAMES = f"DNS:localhost,IP:{LOOPBACK}"
SERVER_NAMES = f"DNS:kubernetes.default.svc,DNS:localhost,IP:{LOOPBACK},IP:10.96.0.1"
PORTS = 3
"""Of etcd for its clients and for its peers, which are none, and of the API server."""

KeyPair = tuple[Path, Path]
"""A certificate and its key."""


class Endpoints(NamedTuple):
    client: int
    peer: int
    secure: int

    @property
    def etcd(self) -> str:
        return f"https://{LOOPBACK}:{self.client}"

    @property
    def server(self) -> str:
        return f"https://{LOOPBACK}:{self.secure}"


def etcd_flags(ends: Endpoints, data: Path, authority: Path, pair: KeyPair, *, durable: bool) -> list[str]:
    """Who writes to etcd is above all rights, and loopback belongs to everybody on this host: it answers only who has a
    certificate of its own authority, which is the API server. What nobody keeps need not reach the disk."""
    flags = [
        *(f"--data-dir={data}", f"--listen-client-urls={ends.etcd}", f"--advertise-client-urls={ends.etcd}"),
        f"--listen-peer-urls=https://{LOOPBACK}:{ends.peer}",
    ]
    for kind in ("", "peer-"):
        flags += [f"--{kind}cert-file={pair[0]}", f"--{kind}key-file={pair[1]}"]
        flags += [f"--{kind}trusted-ca-file={authority}", f"--{kind}client-cert-auth"]
    return flags if durable else [*flags, "--unsafe-no-fsync"]


def store_flags(authority: Path, pair: KeyPair) -> list[str]:
    """Of the API server, for etcd."""
    return [f"--etcd-cafile={authority}", f"--etcd-certfile={pair[0]}", f"--etcd-keyfile={pair[1]}"]


def api_server_flags(ends: Endpoints, authority: Path, serving: KeyPair, accounts: KeyPair) -> list[str]:
    return [
        *(f"--etcd-servers={ends.etcd}", f"--bind-address={LOOPBACK}", f"--secure-port={ends.secure}"),
        *(f"--service-cluster-ip-range={SERVICES}", "--authorization-mode=Node,RBAC", "--allow-privileged"),
        *(f"--tls-cert-file={serving[0]}", f"--tls-private-key-file={serving[1]}"),
        *(f"--client-ca-file={authority}", "--service-account-issuer=https://kubernetes.default.svc"),
        *(f"--service-account-key-file={accounts[0]}", f"--service-account-signing-key-file={accounts[1]}"),
        *("--enable-admission-plugins=NodeRestriction", "--shutdown-delay-duration=0s", "--profiling=false"),
        "--endpoint-reconciler-type=none",
    ]


def client_flags(kubeconfig: Path) -> list[str]:
    """Of the scheduler, and the first ones of the controller manager: there is one of each, and nobody asks it."""
    return [f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0"]


def controller_manager_flags(kubeconfig: Path, authority: Path, accounts: KeyPair) -> Sequence[str]:
    return [
        *client_flags(kubeconfig),
        f"--service-account-private-key-file={accounts[1]}",
        f"--root-ca-file={authority}",
        "--use-service-account-credentials",
    ]
