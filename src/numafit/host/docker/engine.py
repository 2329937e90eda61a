"""The Docker engine's own list: which containers there are, how they are, and what they are pinned to.

An engine on a unix socket is asked directly, which costs a millisecond and no process; any other one by the
`docker` command. An engine that does not answer is a normal case (it is being restarted): then the answer is
None, and nothing may be concluded from it.
"""

import math
import os
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec

from numafit.bits import CpusetError, cpuset_text, parse_cpuset
from numafit.errors import InputError
from numafit.host.lease import LEASE_LABEL
from numafit.host.unix_http import NoAnswer, UnixConnection, exchange

UNIX = "unix://"
PODMAN = "podman://"
"""Podman has no engine that listens: its address is this and the number of the user whose containers are meant."""
PATIENCE = 5.0
"""Seconds; a sick engine must not hold up the ledger for ever."""

T = TypeVar("T")


class Silent(Exception):
    """The engine does not answer, or answers what cannot be understood; the text says why."""


def ask(address: str, method: str, path: str, body: bytes = b"", seconds: float = PATIENCE) -> bytes | None:
    """None: there is no such container."""
    connection = UnixConnection(address.removeprefix(UNIX), seconds)
    try:
        answer = exchange(connection, method, path, body, {"Content-Type": "application/json"} if body else {})
    except NoAnswer as reason:
        raise Silent(f"{address}: {reason}") from None
    if answer.status == HTTPStatus.NOT_FOUND:
        return None
    if answer.status >= HTTPStatus.BAD_REQUEST:
        raise Silent(_message(answer.data) or f"{address}: it answers with status {answer.status}")
    return answer.data


def _message(data: bytes) -> str:
    try:
        return str(msgspec.json.decode(data, type=dict[str, object]).get("message") or "").strip()
    except msgspec.DecodeError:
        return ""


def command(line: list[str], seconds: float = PATIENCE) -> str:
    try:
        done = subprocess.run(
            line, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False, text=True
        )
    except OSError as error:
        raise Silent(f"{line[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Silent(f"{' '.join(line[:4])}: no answer in {PATIENCE:.0f} s") from None
    if done.returncode:
        raise Silent(" ".join(done.stderr.split())[:500] or f"{' '.join(line[:4])}: status {done.returncode}")
    return done.stdout


def decoded(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise Silent(f"the engine answers what is not understood: {error}") from None


DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
_REMOTE = ("tcp://", "http://", "https://", "ssh://")
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


class DockerContainer(msgspec.Struct, frozen=True):
    id: str
    name: str
    image: str
    state: str
    """created, running, paused, restarting, removing, exited or dead."""
    pid: int = 0
    """Of its first process; 0: it does not run."""
    failed: bool = False
    """It could not be started."""
    created: float = 0.0
    restart: str = ""
    """no, on-failure, unless-stopped or always."""
    cpus: int = 0
    """0: not pinned; so with `mems`."""
    mems: int = 0
    gpus: tuple[str, ...] = ()
    """UUIDs and numbers as `--gpus` gave them, or `all`."""
    labels: Mapping[str, str] = {}


class _Record(msgspec.Struct, frozen=True, rename="pascal"):
    pass


class _State(_Record, frozen=True):
    status: str
    pid: int = 0
    error: str = ""
    exit_code: int = 0


class _Restart(_Record, frozen=True):
    name: str = ""


class _DeviceRequest(_Record, frozen=True):
    driver: str = ""
    count: int = 0
    """-1: all; N: those with the numbers below N."""
    ids: tuple[str, ...] | None = msgspec.field(default=None, name="DeviceIDs")


class _HostConfig(_Record, frozen=True):
    cpuset_cpus: str = ""
    cpuset_mems: str = ""
    restart_policy: _Restart = _Restart()
    device_requests: tuple[_DeviceRequest, ...] | None = None


class _Config(_Record, frozen=True):
    image: str = ""
    labels: dict[str, str] | None = None


class _Inspected(_Record, frozen=True):
    id: str
    name: str
    created: str
    state: _State
    host_config: _HostConfig
    config: _Config


class _Listed(_Record, frozen=True):
    id: str


def engine_address(environment: Mapping[str, str] | None = None) -> str:
    """Where the `docker` command would look for its engine."""
    environment = os.environ if environment is None else environment
    if environment.get("DOCKER_HOST"):
        return environment["DOCKER_HOST"]
    context = environment.get("DOCKER_CONTEXT") or _chosen_context(environment)
    if context in ("", "default"):
        return DEFAULT_ADDRESS
    line = ["docker", "context", "inspect", context, "--format", "{{.Endpoints.docker.Host}}"]
    with suppress(Silent):
        return command(line).strip() or DEFAULT_ADDRESS
    return DEFAULT_ADDRESS


def _chosen_context(environment: Mapping[str, str]) -> str:
    folder = environment.get("DOCKER_CONFIG") or f"{environment.get('HOME', '')}/.docker"
    try:
        config = msgspec.json.decode((Path(folder) / "config.json").read_bytes(), type=dict[str, object])
    except (OSError, msgspec.DecodeError):
        return ""
    return str(config.get("currentContext") or "")


def client_of(address: str) -> list[str]:
    """The words that a command for the engine begins with. Raises `Silent` for containers of another user's Podman."""
    if not address.startswith(PODMAN):
        return ["docker", "-H", address]
    if address != f"{PODMAN}{os.geteuid()}":
        raise Silent(f"{address}: only that user can ask his Podman")
    return ["podman"]


def local_podman() -> str:
    """The address of this user's Podman. Raises `InputError` when there is none."""
    try:
        command(["podman", "--version"])
    except Silent as reason:
        raise InputError(f"Podman does not answer: {reason}", cure="install it; `podman info` must work") from None
    return f"{PODMAN}{os.geteuid()}"


def local_engine() -> str:
    """The address of the engine. Raises `InputError` when it does not answer, or runs its containers elsewhere."""
    address = engine_address()
    host = address.partition("://")[2].rpartition(":")[0] or address.partition("://")[2]
    if address.startswith(_REMOTE) and host not in _LOCAL_NAMES:
        raise InputError(
            "its containers run on another machine", source=address, cure="run numafit there, or unset DOCKER_HOST"
        )
    try:
        kernel = kernel_of(address)
    except Silent as reason:
        raise InputError(
            f"the Docker engine does not answer: {reason}", cure="start it, or set DOCKER_HOST; `docker info` must work"
        ) from None
    if kernel and kernel != os.uname().release:
        raise InputError(
            f"its containers run on another kernel ({kernel}), such as that of a virtual machine",
            source=address,
            cure="run numafit there",
        )
    return address


# Asking


def labelled(address: str, lease: str = "") -> list[DockerContainer] | None:
    """The containers with the label of this lease, or of any, in whatever state, by id."""
    wanted = f"{LEASE_LABEL}={lease}" if lease else LEASE_LABEL
    return _listed(address, {"label": [wanted]})


def running(address: str) -> list[DockerContainer] | None:
    return _listed(address, {"status": ["running", "paused"]})


def inspected(address: str, names: Iterable[str]) -> list[DockerContainer] | None:
    """Those that are there, by id or by name."""
    try:
        return _inspect(address, list(names))
    except Silent:
        return None


def why_silent(address: str) -> str:
    """Empty when the engine answers."""
    try:
        kernel_of(address)
    except Silent as reason:
        return str(reason)
    return ""


def kernel_of(address: str) -> str:
    """The release of the kernel that its containers run on. Raises `Silent`."""
    if address.startswith(UNIX):
        data = ask(address, "GET", "/version")
        record = decoded(data or b"", dict[str, object])
        return str(record.get("KernelVersion") or "")
    if address.startswith(PODMAN):
        command([*client_of(address), "version"])
        return os.uname().release
    return command([*client_of(address), "version", "--format", "{{.Server.KernelVersion}}"]).strip()


def pin(address: str, container: str, cpus: int, mems: int = 0) -> str:
    """Change the cpuset of a container; returns why it did not work. Whoever calls reads back what came of it."""
    sets = {"CpusetCpus": cpuset_text(cpus)} | ({"CpusetMems": cpuset_text(mems)} if mems else {})
    try:
        if address.startswith(UNIX):
            body = msgspec.json.encode(sets)
            if ask(address, "POST", f"/containers/{quote(container, safe='')}/update", body) is None:
                return "there is no such container"
        else:
            flags = [f"--cpuset-cpus={cpuset_text(cpus)}"] + ([f"--cpuset-mems={cpuset_text(mems)}"] if mems else [])
            command([*client_of(address), "update", *flags, container])
    except Silent as reason:
        return str(reason)
    return ""


def stop(address: str, container: str, grace: float) -> str:
    """SIGTERM (or what the image asks for), and SIGKILL after the grace; returns why it did not work."""
    seconds, whole = grace + 2 * PATIENCE, math.ceil(grace)
    try:
        if address.startswith(UNIX):
            if ask(address, "POST", f"/containers/{quote(container, safe='')}/stop?t={whole}", seconds=seconds) is None:
                return "there is no such container"
        else:
            command([*client_of(address), "stop", f"--time={whole}", container], seconds)
    except Silent as reason:
        return str(reason)
    return ""


def _listed(address: str, filters: Mapping[str, list[str]]) -> list[DockerContainer] | None:
    try:
        if address.startswith(UNIX):
            query = quote(msgspec.json.encode(filters).decode(), safe="")
            data = ask(address, "GET", f"/containers/json?all=1&filters={query}")
            ids = [one.id for one in decoded(data or b"", list[_Listed])]
        else:
            words = [word for key, values in filters.items() for value in values for word in ("-f", f"{key}={value}")]
            ids = command([*client_of(address), "ps", "-aq", "--no-trunc", *words]).split()
        return sorted(_inspect(address, ids), key=lambda container: container.id)
    except Silent:
        return None


def _inspect(address: str, names: list[str]) -> list[DockerContainer]:
    """One that was removed meanwhile is left out."""
    found = []
    for name in names:
        if address.startswith(UNIX):
            data = ask(address, "GET", f"/containers/{quote(name, safe='')}/json")
            if data is not None:
                found.append(_container(decoded(data, _Inspected)))
        else:
            try:
                text = command([*client_of(address), "container", "inspect", name])
            except Silent as reason:
                if "no such container" in str(reason).lower():
                    continue
                raise
            found += [_as_it_runs(_container(one), address) for one in decoded(text.encode(), list[_Inspected])]
    return found


def _as_it_runs(container: DockerContainer, address: str) -> DockerContainer:
    """Podman tells the CPUs that a container was made with, also after `podman update`; the kernel knows better."""
    if not address.startswith(PODMAN) or not container.pid or not container.cpus:
        return container
    try:
        lines = Path(f"/proc/{container.pid}/status").read_text("utf-8", "replace").splitlines()
    except OSError:
        return container
    texts = dict(line.split(":\t", 1) for line in lines if "_allowed_list:\t" in line)
    cpus, mems = parse_cpuset(texts["Cpus_allowed_list"]), parse_cpuset(texts["Mems_allowed_list"])
    return msgspec.structs.replace(container, cpus=cpus, mems=mems if container.mems else 0)


def _gpus(request: _DeviceRequest) -> list[str]:
    if request.driver not in ("", "nvidia"):
        return []
    if request.count < 0:
        return ["all"]
    return [*(request.ids or ()), *map(str, range(request.count))]


def _container(one: _Inspected) -> DockerContainer:
    try:
        cpus, mems = parse_cpuset(one.host_config.cpuset_cpus), parse_cpuset(one.host_config.cpuset_mems)
        created = datetime.fromisoformat(f"{one.created[:19]}+00:00").timestamp()
    except (CpusetError, ValueError) as error:
        raise Silent(f"the engine describes container {one.id[:12]} strangely: {error}") from None
    return DockerContainer(
        id=one.id,
        name=one.name.removeprefix("/"),
        image=one.config.image,
        state=one.state.status,
        pid=one.state.pid,
        failed=bool(one.state.error or one.state.exit_code),
        created=created,
        restart=one.host_config.restart_policy.name,
        cpus=cpus,
        mems=mems,
        gpus=tuple(name for request in one.host_config.device_requests or () for name in _gpus(request)),
        labels=one.config.labels or {},
    )
