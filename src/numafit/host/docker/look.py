"""A quick look at Docker and Podman: which of their running containers tell of a lease.

Every `numafit run` asks this, so it costs one question on Docker's socket and none of the modules that speak real HTTP,
nor the rest of Python's `socket`, which takes 2 ms.
Podman is not asked at all: beside each of its containers runs a `conmon`, whose words name the container's files.
"""

import os
from _socket import AF_UNIX, SOCK_STREAM, socket
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import msgspec

from numafit.host.lease import LEASE_LABEL
from numafit.host.process.identity import PROC, processes

DEFAULT_SOCKET = "/var/run/docker.sock"
PATIENCE = 1.0
"""Seconds; a sick engine must not hold up jobs that have nothing to do with it."""

_UNIX = "unix://"
_QUESTION = (
    b"GET /containers/json?filters=%7B%22label%22%3A%5B%22numafit.lease%22%5D%2C%22status%22%3A%5B%22running%22%2C"
    b"%22paused%22%2C%22restarting%22%5D%7D HTTP/1.0\r\nHost: docker\r\n\r\n"
)
_MOST_BYTES = 16 << 20


class _Shown(msgspec.Struct, frozen=True, rename="pascal"):
    id: str
    labels: dict[str, str] | None = None


class _Bundle(msgspec.Struct, frozen=True):
    """What a container is started with, as the OCI describes it."""

    annotations: dict[str, str] | None = None


def engine_socket(environment: Mapping[str, str]) -> str | None:
    """Empty: no engine runs on this host. None: it takes more than a look to find it."""
    chosen = environment.get("DOCKER_HOST", "")
    if chosen:
        return chosen.removeprefix(_UNIX) if chosen.startswith(_UNIX) else None
    folder = environment.get("DOCKER_CONFIG") or f"{environment.get('HOME', '')}/.docker"
    try:
        with open(f"{folder}/config.json", "rb") as file:
            elsewhere = b"currentContext" in file.read()
    except OSError:
        elsewhere = False
    if elsewhere or environment.get("DOCKER_CONTEXT"):
        return None
    return DEFAULT_SOCKET if os.path.exists(DEFAULT_SOCKET) else ""


def leased_containers(path: str) -> list[tuple[str, str]]:
    """(lease, container) of those that run; none where the engine does not answer."""
    try:
        with closing(socket(AF_UNIX, SOCK_STREAM)) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(path)
            connection.sendall(_QUESTION)
            answer = b""
            while len(answer) < _MOST_BYTES and (more := connection.recv(1 << 16)):
                answer += more
    except OSError:
        return []
    head, _, body = answer.partition(b"\r\n\r\n")
    try:
        shown = msgspec.json.decode(body, type=list[_Shown]) if b" 200 " in head.partition(b"\r\n")[0] else []
    except msgspec.DecodeError:
        return []
    return [(str((one.labels or {}).get(LEASE_LABEL)), one.id) for one in shown]


def podman_folder(uid: int) -> Path:
    """There once this user has used Podman since the machine started."""
    return Path("/run/libpod") if not uid else Path(f"/run/user/{uid}/libpod")


def podman_containers(root: Path = PROC) -> list[tuple[str, str]]:
    """(lease, container) of this user's Podman that run; root's, for root."""
    found = []
    for pid in processes(root):
        try:
            # A host has thousands of processes: plain files are read in a third of the time that `Path` takes.
            with open(f"{root}/{pid}/comm", "rb", buffering=0) as file:
                if file.read(16) != b"conmon\n":
                    continue
            folder = root / str(pid)
            if folder.stat().st_uid != os.geteuid():
                continue
            words = os.fsdecode((folder / "cmdline").read_bytes()).split("\0")
            container, files = (words[words.index(option) + 1] for option in ("-c", "-b"))
            described = msgspec.json.decode((Path(files) / "config.json").read_bytes(), type=_Bundle)
        except (OSError, ValueError, IndexError, msgspec.DecodeError):
            continue
        lease = (described.annotations or {}).get(LEASE_LABEL)
        if lease:
            found.append((lease, container))
    return found
