"""Whether a job gets a lease: who asks, where it would go, why there is none for him, and the sentences that tell of
it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from numafit.bits import cpuset_text, mask_of
from numafit.errors import InputError
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.pool import SharedPlace, left_to_shared, pool_of, shared_cpus
from numafit.host.process.identity import ProcessId
from numafit.host.quota import over_quota, within_bounds
from numafit.host.request import JobRequest
from numafit.host.wake.foreseen import Foreseen
from numafit.quantity import Quantity

if TYPE_CHECKING:
    from numafit.host.place import Placed

# The engine is loaded by those who ask it: shared work starts in two thirds of the time without (`bench leases`).

_UUIDS = ("GPU-", "MIG-")


class Owner(msgspec.Struct, frozen=True):
    """Who asks for a lease."""

    processes: tuple[ProcessId, ...] = ()
    uid: int = 0
    user: str = ""
    command: str = ""
    container: str = ""
    until: float | None = None
    boot: str = ""


class QueuePlace(msgspec.Struct, frozen=True):
    """One that waits."""

    owner: Owner
    request: JobRequest
    since: float
    """Seconds of the wall clock, to be shown; nothing is decided by it."""
    until: float | None = None
    """Seconds of CLOCK_BOOTTIME: it waits no longer."""
    allowed_cpus: str = ""
    """Those that it may use at all, like 0-3; empty: every one. So are the NUMA nodes of memory."""
    allowed_mems: str = ""
    ticket: int = 0
    """Who came first has the lowest."""
    foreseen: Foreseen | None = None
    """How its command will be bound; None: it finds out when it starts."""
    told: str | None = None
    """The id that an agent told of it."""

    @property
    def id(self) -> str:
        """By which it is cancelled."""
        return f"w{self.ticket}" if self.told is None else self.told


class Refused(msgspec.Struct, frozen=True):
    """No lease: what the engine said, or who waits before."""

    placed: "Placed | None" = None
    ahead: tuple[QueuePlace, ...] = ()
    why: str = ""
    """A reason of this host and not of the engine."""
    never: bool = False
    """It would not fit if nobody held anything."""


def granted(host: Host, leases: Sequence[Lease], request: JobRequest) -> "Placed | Refused":
    """Where a job goes on top of the leases, if it may, and to what is really free where there is a choice, which a
    kubelet does not look at. The engine does not know that shared work keeps a CPU to run on: where it chose the last
    one of such work, it is asked again without the CPUs that are left to it."""
    from numafit.host.room import with_room

    host = host.within(request.on_nodes, holding=bool(request.memory))
    _check_names(host, leases, request)
    placed = _granted(host, leases, request)
    if isinstance(placed, Refused) or request.like_kubelet:
        return placed

    def again(less: Host, others: Sequence[Lease]) -> "Placed | None":
        other = _granted(less, others, request)
        return None if isinstance(other, Refused) else other

    return with_room(host, leases, placed, again)


def _granted(host: Host, leases: Sequence[Lease], request: JobRequest) -> "Placed | Refused":
    from numafit.host.spread import place_job

    placed = place_job(host, leases, request)
    refused = _refusal(host, leases, placed)
    if refused is None or not placed.exclusive:
        return refused or placed
    pool = pool_of(host, leases)
    rest = replace(host, allowed_cpus=host.usable_cpus & ~left_to_shared(pool, leases, pool))
    other = place_job(rest, leases, request)
    return other if other.admitted else refused


def _check_names(host: Host, leases: Sequence[Lease], request: JobRequest) -> None:
    """Where GPUs are known by their PCI addresses only, one that is held by its UUID could be given again."""
    for resource in request.devices:
        own = {device.id: device.bus for device in host.machine.devices if device.resource == resource}
        if all(name != address for name, address in own.items()):
            continue
        for lease in leases:
            for device in lease.devices.get(resource, ()):
                if device.startswith(_UUIDS) and device not in own:
                    raise InputError(
                        f"the lease {lease.label} holds {device}, and here no driver tells which {resource} that is",
                        cure="`nvidia-smi -L` must list it",
                    )


def _refusal(host: Host, leases: Sequence[Lease], placed: "Placed") -> Refused | None:
    if not placed.admitted:
        return Refused(placed, why=kept_back(host, placed.request))
    before = pool_of(host, leases)
    if not placed.exclusive:
        if before & host.usable_cpus:
            return None
        if placed.request.on_nodes:
            nodes = cpuset_text(placed.request.on_nodes)
            return Refused(placed, why=f"every CPU of NUMA node {nodes} is held exclusively")
        mine = "every CPU" if host.allowed_cpus is None or not before else "every CPU that this process may use"
        return Refused(placed, why=f"{mine} is held exclusively: there is no shared pool to run in")
    if left_to_shared(before, leases, placed.exclusive):
        return Refused(placed, why="shared work runs on this host, and the last CPUs are left to it")
    return None


def kept_back(host: Host, request: JobRequest) -> str:
    """Why somebody can have no CPUs of his own, whoever holds some: he may use none that jobs may hold."""
    if not request.cpus or request.on_nodes or host.usable_cpus & ~host.reserved_cpus:
        return ""
    return (
        f"this process may run on CPUs {cpuset_text(host.usable_cpus)} only, which are kept back from jobs (where "
        "`numafit host setup --sessions` keeps those who log in there, root's jobs may have others)"
    )


def bounded(host: Host, request: JobRequest, owner: Owner) -> JobRequest:
    """A container or a lease for some time is ended by others: they have no time of their own."""
    bounded = within_bounds(host.quotas, request, owner.uid, owner.user)
    return request if owner.container or owner.until is not None else bounded


def is_over(host: Host, leases: Sequence[Lease], waiting: QueuePlace) -> bool:
    """Whether one who waits has his quota in use."""
    return bool(_over(host, leases, waiting.request, waiting.owner))


def granted_to(host: Host, leases: Sequence[Lease], request: JobRequest, owner: Owner) -> "Placed | Refused":
    """Where the job of somebody goes, within what he may hold. Raises `InputError` for what he never may."""
    check_quota(host, request, owner)
    why = _over(host, leases, request, owner)
    if why:
        return Refused(why=why)
    answer = granted(host, leases, request)
    if not isinstance(answer, Refused):
        why = _over(host, leases, request, owner, answer.exclusive.bit_count())
    return Refused(why=why) if why else answer


def check_quota(host: Host, request: JobRequest, owner: Owner) -> None:
    """What would be too much even if nobody held anything."""
    why = _over(host, (), request, owner)
    if why:
        whole = not over_quota(host.quotas, (), request, owner.uid, owner.user)
        raise InputError(why, cure="ask for less, or for single threads with --threads" if whole else "ask for less")


def _over(host: Host, leases: Sequence[Lease], request: JobRequest, owner: Owner, given: int | None = None) -> str:
    """As `over_quota` says it of the CPUs that are `given`; without, of as many as whole cores make of those that are
    asked for."""
    why = over_quota(host.quotas, leases, request, owner.uid, owner.user)
    if why or not request.cpus or not (host.quotas.users or host.quotas.groups):
        return why
    from numafit.host.spread import cpus_in_all

    room = (host.usable_cpus & ~host.reserved_cpus).bit_count()
    whole = cpus_in_all(host, request)
    # Who may not use as many gets what he may.
    cpus = given if given is not None else whole if whole <= room else request.cpus
    why = over_quota(host.quotas, leases, replace(request, cpus=cpus), owner.uid, owner.user)
    return f"{why} (whole cores, {request.cpus} asked for)" if why else ""


QUOTA = "Quota"
"""The reason of a refusal that no engine had to be asked for."""


def refused_data(owner: Owner, refused: Refused, request: JobRequest) -> dict[str, object]:
    return {
        "request": request,
        "command": owner.command,
        "reason": refused.placed.decision.reason if refused.placed is not None else QUOTA,
        "sentence": sentence_of(refused),
    }


def sentence_of(refused: Refused) -> str:
    """Why there is no lease, in one sentence."""
    if refused.ahead:
        first = refused.ahead[0]
        return f"it would delay {first.owner.user}, who waits for {first.request.words()}"
    if refused.why or refused.placed is None:
        return refused.why
    return sentence_about(refused.placed)


def sentence_about(placed: "Placed | SharedPlace") -> str:
    """Where it went, or why it could not."""
    if isinstance(placed, SharedPlace):
        return f"shared CPUs on {_nodes(placed.nodes)}"
    if placed.admitted:
        return _where(placed)
    short = _shortage(placed)
    if short:
        return short
    # Only a refusal is told, and a job starts quicker without the words for it.
    from numafit.decision.story.story import decision_sentence

    return decision_sentence(placed.node, placed.decision, who="it")


def _shortage(placed: "Placed") -> str:
    """What there is too little of, wherever it lies. The managers tell of that too, but only of the part of the request
    that they were about to take when nothing was left."""
    from numafit.managers.ask import MEMORY
    from numafit.managers.device.manager import free_devices

    request, ledger, node = placed.request, placed.decision.ledger, placed.node
    cpus = node.cpu.available(ledger.cpu).bit_count()
    if request.cpus > cpus:
        more = f"; of cores that others use {_free(placed.split)}, which --threads takes" if placed.split else ""
        return too_few_cpus(request.cpus, cpus, placed.asked) + more
    memory = sum(numa.tables[MEMORY].free for numa in ledger.memory.nodes.values() if MEMORY in numa.tables)
    if request.memory > memory:
        asked, left = (Quantity(size, 0, "BinarySI") for size in (request.memory, memory))
        return f"{asked} of memory are asked for and {left} are free"
    for resource, count in sorted(request.devices.items()):
        devices = len(free_devices(ledger.device, resource))
        if count > devices:
            return too_few_devices(resource, count, devices)
    return ""


def too_few_cpus(asked: int, free: int, how: str = "") -> str:
    """`how` they were asked for, such as ` in whole cores`."""
    what, be = ("CPUs", "are") if asked > 1 else ("CPU", "is")
    return f"{asked} {what}{how} {be} asked for and {_free(free)}"


def too_few_devices(resource: str, asked: int, free: int) -> str:
    return f"{asked} {resource} {'are' if asked > 1 else 'is'} asked for and {_free(free)}"


def _free(count: int) -> str:
    return f"{count} are free" if count > 1 else ("1 is free" if count else "none is free")


def _where(placed: "Placed") -> str:
    parts = [f"CPUs {cpuset_text(placed.exclusive)}" if placed.exclusive else "shared CPUs"]
    parts += [str(Quantity(block.size, 0, "BinarySI")) for block in placed.memory]
    devices = [(resource, device) for resource, ids in placed.devices.items() for device in ids]
    names = [device for _, device in devices]
    numa = {(device.resource, device.id): device.numa or () for device in placed.node.machine.devices}
    near = mask_of(node for device in devices for node in numa.get(device, ()))
    apart = f"; {', '.join(names)} on {_nodes(near)}" if near & ~placed.nodes else ""
    held = ", ".join(parts if apart else parts + names)
    aligned = placed.aligned or not placed.nodes or placed.request.policy == "none"
    return f"{held} on {_nodes(placed.nodes)}{apart}" + ("" if aligned else ", not aligned")


def _nodes(nodes: int) -> str:
    return f"node{'s' if nodes.bit_count() > 1 else ''} {cpuset_text(nodes)}" if nodes else "any node"


class PlannedLease(msgspec.Struct, frozen=True):
    placed: "Placed"
    lease: Lease
    """Without an id, an owner and times that mean anything."""
    cpus: int
    """Its own, or those of the shared pool."""


def planned_lease(host: Host, leases: Sequence[Lease], request: JobRequest) -> PlannedLease | Refused:
    """Who waits in the queue is not asked."""
    placed = granted(host, leases, request)
    if isinstance(placed, Refused):
        return placed
    lease = provisional(host, placed, f"planned-{len(leases)}")
    return PlannedLease(placed, lease, lease.exclusive or shared_cpus(host, leases, lease))


def provisional(host: Host, placed: "Placed", lease_id: str) -> Lease:
    """As if it were held, by nobody."""
    return Lease(
        lease_id,
        placed.request.name,
        0,
        "",
        0.0,
        exclusive=placed.exclusive,
        nodes=placed.nodes,
        mems=placed.mems,
        memory=placed.memory,
        devices=placed.devices,
        allowed=host.within(placed.request.on_nodes, holding=False).allowed_cpus or 0,
        bind=placed.bind,
        limit_memory=placed.request.limit_memory,
        shares=placed.shares,
        priority=placed.request.priority,
        seconds=placed.request.seconds,
    )
