"""Compose files: what each service asks of the machine, where it would go, and a second file that puts it there.

The file itself is never changed: Compose takes several, and what a later one says of a service is added or counts
instead. Compose cannot name memory nodes, so the label does; they are pinned when the container is entered into the
ledger.
"""

import json
import math
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from numafit.amounts import parse_amount
from numafit.bits import cpuset_text
from numafit.document import Document, Path
from numafit.errors import InputError
from numafit.host.docker.command_line import DockerRun, docker_size, size_of
from numafit.host.docker.options import docker_gpus, label_flags, shared_memory
from numafit.host.docker.plan import GPU
from numafit.host.grant import Refused, planned_lease, sentence_of
from numafit.host.host import Host
from numafit.host.lease import Lease, memory_of
from numafit.host.request import POLICIES, JobRequest

EXTENSION = "x-numafit"
_KNOWN = ("cpus", "memory", "gpus", "policy")


class ComposeService(msgspec.Struct, frozen=True):
    name: str
    request: JobRequest
    limited: bool = False
    """The file limits its memory itself."""


class PlannedService(msgspec.Struct, frozen=True):
    service: ComposeService
    lease: Lease
    cpus: int
    """Its own, or those of the shared pool."""


def compose_services(document: Document) -> list[ComposeService]:
    """In the order of the file. Raises `InputError` with the place."""
    services = _mapping(document, ())
    found = _mapping(document, ("services",)) if "services" in services else {}
    if not found:
        raise document.error("there are no services", cure="a compose file has them below `services:`")
    return [_service(document, name) for name in found]


def _service(document: Document, name: str) -> ComposeService:
    at: Path = ("services", name)
    own = _mapping(document, at)
    resources = (*at, "deploy", "resources")
    limits, reserved = (_mapping(document, (*resources, kind)) for kind in ("limits", "reservations"))
    if "gpus" in own or reserved.get("devices"):
        where = (*at, "gpus") if "gpus" in own else (*resources, "reservations", "devices")
        cure = f"take it out, and write `{EXTENSION}: {{gpus: N}}` instead"
        raise document.error(
            "which devices it gets is for numafit to choose, and Compose would add both", where, cure=cure
        )
    count = own.get("scale", _mapping(document, (*at, "deploy")).get("replicas", 1))
    if count not in (0, 1):
        cure = "write a service for each"
        raise document.error(f"{count} containers would share the CPUs of one", at, cure=cure)
    written = own.get("mem_limit", limits.get("memory"))
    memory = written if written is not None else reserved.get("memory")
    cpus = own.get("cpus", limits.get("cpus", reserved.get("cpus")))
    try:
        request = JobRequest(
            # Less than one CPU's time is no reason to keep others from a whole one.
            cpus=math.ceil(float(str(cpus))) if cpus is not None and float(str(cpus)) >= 1 else 0,
            memory=size_of(str(memory), "memory") if memory is not None else 0,
            name=name,
        )
    except (ValueError, OverflowError):
        raise document.error(f"{cpus} is not a number of CPUs", at) from None
    except InputError as error:
        raise document.error(error.message, at, cure=error.cure) from None
    return ComposeService(name, _extended(document, at, request), written is not None)


def _extended(document: Document, at: Path, request: JobRequest) -> JobRequest:
    """What the file asks numafit for comes before what it asks Docker for."""
    own = _mapping(document, (*at, EXTENSION))
    for key, value in own.items():
        where = (*at, EXTENSION, key)
        if key not in _KNOWN:
            raise document.error(f"is not known; there are {', '.join(_KNOWN)}", where, key=True)
        if key == "memory":
            try:
                request = replace(request, memory=parse_amount(str(value)))
            except ValueError as error:
                raise document.error(str(error), where, cure="write it like 32Gi") from None
        elif key == "policy":
            if value not in POLICIES:
                raise document.error(f"is none of {', '.join(POLICIES)}", where)
            request = replace(request, policy=value)
        elif not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 100_000:
            raise document.error("is not a whole number", where)
        else:
            request = replace(
                request, **({"cpus": value} if key == "cpus" else {"devices": {GPU: value} if value else {}})
            )
    return request


def _mapping(document: Document, path: Path) -> dict[str, object]:
    """Empty where it is not there."""
    value: object = document.value
    for depth, step in enumerate(path, 1):
        if not isinstance(value, dict):
            raise document.error("a mapping is expected", path[: depth - 1])
        value = value.get(str(step))
        if value is None:
            return {}
    if not isinstance(value, dict):
        raise document.error("a mapping is expected", path)
    return value


def planned_services(
    host: Host, leases: Sequence[Lease], services: Sequence[ComposeService], document: Document
) -> list[PlannedService]:
    """Each on top of those before it; who asks for no CPUs of his own comes last, in what is left. Raises `InputError`
    for what is not free."""
    held = list(leases)
    found: dict[str, PlannedService] = {}
    for service in sorted(services, key=lambda one: not one.request.cpus):
        planned = planned_lease(host, held, service.request)
        if isinstance(planned, Refused):
            sentence = f"no room for {service.request.words()}: {sentence_of(planned)}"
            raise document.error(sentence, ("services", service.name), key=True)
        held.append(planned.lease)
        found[service.name] = PlannedService(service, planned.lease, planned.cpus)
    return [found[service.name] for service in services]


def override_text(planned: Sequence[PlannedService], host: Host, source: str, *, labels: bool) -> str:
    """The second file. Without `labels` it belongs to no ledger."""
    lines = [f"# Made by numafit docker compose, to be used after {source}.", "services:"]
    for one in planned:
        lines += [f"  {_scalar(one.service.name)}:", f"    cpuset: {_scalar(cpuset_text(one.cpus))}"]
        lines += _sizes(one, host)
        if labels:
            lines.append("    labels:")
            for flag in label_flags(one.lease):
                name, _, value = flag.removeprefix("--label=").partition("=")
                lines.append(f"      {name}: {_scalar(value)}")
    return "\n".join([*lines, ""])


def _sizes(one: PlannedService, host: Host) -> Iterator[str]:
    held = memory_of(one.lease)
    if held and not one.service.limited:
        yield f"    mem_limit: {_scalar(docker_size(held))}"
    gpus = docker_gpus(one.lease.devices, host.machine)
    shared = shared_memory(one.lease, len(gpus), host.machine, DockerRun((), ""))
    if shared:
        yield f"    shm_size: {_scalar(docker_size(shared))}"
    if gpus:
        ids = ", ".join(_scalar(gpu) for gpu in gpus)
        devices = f"[{{driver: nvidia, capabilities: [gpu], device_ids: [{ids}]}}]"
        yield f"    deploy: {{resources: {{reservations: {{devices: {devices}}}}}}}"


def _scalar(text: str) -> str:
    """JSON's texts are YAML's; Compose puts variables where a dollar stands."""
    return json.dumps(text.replace("$", "$$"), ensure_ascii=False)
