"""Whether a placement finds what it counts on: memory that is really free on its nodes, GPUs that nobody computes on.

Claims say who may have what, and programs without a lease claim nothing. So where the nodes or GPUs of a placement are
really full, another one that is as good by the claims is looked for, and taken if it has room. Where there is none the
claims count, and what differs is told. What others hold and have not touched yet looks free here: the claims know it.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from numafit.amounts import size_text
from numafit.bits import cpuset_text, mask_of, members
from numafit.errors import InputError
from numafit.host.bind.target import BIND, PREFER
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.place import Placed
from numafit.host.usage import Usage

FULL = 16
"""A node with less than this part of its memory free is full for a job that does not say how much it needs."""
GPU_IDLE = 1 << 30
"""Bytes; drivers keep some hundred MiB of an idle GPU for themselves."""

_STRANGERS = "(without a lease)"

PlaceAgain = Callable[[Host, Sequence[Lease]], Placed | None]
"""Places the request on a host with less to give; None: it does not fit there."""


def with_room(host: Host, leases: Sequence[Lease], placed: Placed, place: PlaceAgain) -> Placed:
    """`placed`, or a placement as good as it whose memory and GPUs are really free, with remarks on the difference.

    GPUs come first. What strangers use then counts as held, so that looking for memory does not lead back to it, and
    the memory is judged where the job goes in the end."""
    usage = host.usage
    if usage is None:
        return placed
    found, leases = _with_idle_gpus(host, usage, leases, placed, place)
    found = _with_memory(host, usage, leases, found, place)
    remark = _gpu_remark(host, usage, placed, found)
    return replace(found, remarks=(*found.remarks, remark)) if remark else found


def _with_memory(host: Host, usage: Usage, leases: Sequence[Lease], placed: Placed, place: PlaceAgain) -> Placed:
    short = short_nodes(host, usage, placed)
    if not short:
        return placed
    remark = _shortage(host, usage, placed, short)
    every = mask_of(node for node in members(host.memory_nodes) if _is_short(host, usage, 1 << node, _need(placed)))
    cpus = mask_of(cpu.id for cpu in host.machine.cpus if not every >> cpu.numa & 1)
    rest = replace(host, allowed_cpus=host.usable_cpus & cpus, allowed_mems=host.memory_nodes & ~every)
    other = _as_good(placed, place, rest, leases) if rest.allowed_cpus and rest.allowed_mems else None
    if other is not None and not short_nodes(host, usage, other):
        remarks = (*other.remarks, f"{remark}: the job goes to node {cpuset_text(other.nodes)}")
        return replace(other, remarks=remarks)
    if not placed.memory:
        # A node that is full of files is the usual case, and nothing better is to be had.
        return placed
    if placed.bind == BIND and not placed.request.bind:
        remarks = (*placed.remarks, f"{remark}: its memory is preferred there, not bound")
        return replace(placed, bind=PREFER, remarks=remarks)
    return replace(placed, remarks=(*placed.remarks, remark))


def short_nodes(host: Host, usage: Usage, placed: Placed) -> int:
    """The nodes, as a mask, that do not really have what the placement counts on."""
    if not placed.nodes or not placed.mems:
        return 0
    if not placed.memory:
        return mask_of(node for node in members(placed.mems) if _is_short(host, usage, 1 << node, 0))
    short = 0
    for block in placed.memory:
        nodes = mask_of(block.numa)
        if block.type == "memory" and _is_short(host, usage, nodes, block.size):
            short |= nodes
    return short


def _need(placed: Placed) -> int:
    return max((block.size for block in placed.memory if block.type == "memory"), default=0)


def _is_short(host: Host, usage: Usage, nodes: int, need: int) -> bool:
    """Whether the nodes together have less than is needed; with 0, whether they are full. Unknown ones are not."""
    known = [usage.nodes[node] for node in members(nodes) if node in usage.nodes]
    if len(known) != nodes.bit_count():
        return False
    if need:
        return sum(node.available for node in known) < need
    total = sum(node.memory for node in host.machine.numa_nodes if nodes >> node.id & 1)
    return sum(node.free for node in known) < total // FULL


def _shortage(host: Host, usage: Usage, placed: Placed, short: int) -> str:
    known, nodes = [usage.nodes[node] for node in members(short)], cpuset_text(short)
    if placed.memory:
        available = size_text(sum(node.available for node in known))
        return f"{size_text(_need(placed))} on node {nodes} are free by the claims, and really {available}"
    total = sum(node.memory for node in host.machine.numa_nodes if short >> node.id & 1)
    free = size_text(sum(node.free for node in known))
    return f"node {nodes} is nearly full ({free} of {size_text(total)} are really free)"


def _with_idle_gpus(
    host: Host, usage: Usage, leases: Sequence[Lease], placed: Placed, place: PlaceAgain
) -> tuple[Placed, Sequence[Lease]]:
    """With the leases and, where the job can do without them, the GPUs of strangers as if they were held."""
    busy = _busy(host, usage)
    by_resource: dict[str, tuple[str, ...]] = {}
    for device in host.machine.devices:
        if device.id in busy:
            by_resource[device.resource] = (*by_resource.get(device.resource, ()), device.id)
    if not placed.devices.keys() & by_resource.keys():
        return placed, leases
    others = [*leases, Lease(_STRANGERS, "", 0, "", 0.0, devices=by_resource)]
    if not _held(placed) & busy.keys():
        return placed, others
    other = _as_good(placed, place, host, others)
    return (other, others) if other is not None else (placed, leases)


def _gpu_remark(host: Host, usage: Usage, before: Placed, now: Placed) -> str:
    """On the GPUs that it had `before` and does not get, or that it gets all the same."""
    busy = _busy(host, usage)
    labels = {device.id: device.label or device.id for device in host.machine.devices}
    still = _held(now) & busy.keys()
    told = ", ".join(
        f"{labels[gpu]} ({size_text(busy[gpu])} of its memory)" for gpu in sorted(still or _held(before) & busy.keys())
    )
    if not told:
        return ""
    names = ", ".join(labels[gpu] for ids in now.devices.values() for gpu in ids)
    return f"in use though nobody holds it: {told}" + ("" if still else f"; the job gets {names}")


def _held(placed: Placed) -> set[str]:
    return {device for ids in placed.devices.values() for device in ids}


def _busy(host: Host, usage: Usage) -> Mapping[str, int]:
    return {device.id: used for device in host.machine.devices if (used := usage.gpus.get(device.id, 0)) >= GPU_IDLE}


def _as_good(placed: Placed, place: PlaceAgain, host: Host, leases: Sequence[Lease]) -> Placed | None:
    try:
        other = place(host, leases)
    except InputError:
        return None
    return other if other is not None and _quality(other) >= _quality(placed) else None


def _quality(placed: Placed) -> tuple[bool, int]:
    """Aligned first, then on few NUMA nodes."""
    return placed.aligned, -placed.nodes.bit_count()
