"""Where a host puts a job: as a kubelet would while that is good for the job, else in parts near its devices.

The engine takes CPUs and memory for a whole container: eight GPUs on two sockets get their CPUs on one of them. So

- GPUs are chosen by their links first. Of sets that are linked equally well the one counts whose NUMA nodes have the
  CPUs and the memory;
- where all of the job fits one NUMA node, the engine's answer stands;
- else the job is cut into parts: one for each process where their number is given, else one for each NUMA node of its
  devices. CPUs and memory go to the parts in proportion to their devices, each part to its own node; what is not free
  there comes from the nearest node that has it;
- CPUs of a part come out of as few uncore caches as will do;
- of a processor with cores of two kinds the fast ones come first;
- processes without devices go whole to as few NUMA nodes as hold them, evenly.

`--like-kubelet` leaves all that out, and `cores` does what is said there about whole cores.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from numafit.bits import cpuset_text, mask_of, members
from numafit.errors import InputError
from numafit.host.cores import WholeCores, free_cores, place_whole
from numafit.host.host import Distance, Host, distances
from numafit.host.lease import Lease, LeasePart
from numafit.host.parts import Cutting, JobPart, TakenPart, free_bytes, in_proportion, memory_of_parts, nearest_first
from numafit.host.place import GPU, Placed, ledger_of, memory_near, node_of, place, way_of
from numafit.host.request import STRICT, JobRequest, len_of_main, main_resources
from numafit.ledger.ledger import Block
from numafit.machine.gpu_sets import BestSet, equal_sets, pairs_of, reason_text
from numafit.machine.model import EFFICIENCY, Device
from numafit.managers.ask import MEMORY
from numafit.managers.device.manager import free_devices


def place_job(host: Host, leases: Sequence[Lease], request: JobRequest) -> Placed:
    """Raises `InputError` for what this machine can never give, whoever holds what."""
    slow = mask_of(cpu.id for cpu in host.machine.cpus if cpu.kind == EFFICIENCY)
    fast = host.usable_cpus & ~slow
    if request.like_kubelet or not slow or not fast:
        return _placed_anywhere(host, leases, request)
    # A kernel left alone would take the fast cores first, and so would everybody.
    placed = _placed_anywhere(replace(host, allowed_cpus=fast), leases, request) if request.cpus else None
    if placed is None or not placed.admitted:
        placed = _placed_anywhere(host, leases, request)
    count = (placed.exclusive & slow).bit_count()
    if not count:
        return placed
    remark = f"{count} of its {placed.exclusive.bit_count()} CPUs are efficiency cores, which are slower"
    return replace(placed, remarks=(*placed.remarks, remark))


def _placed_anywhere(host: Host, leases: Sequence[Lease], request: JobRequest) -> Placed:
    if request.policy in STRICT and request.on_nodes:
        host = _strictly(host, request)
    if request.like_kubelet:
        return place(host, leases, request)
    check_parts(request)
    cores = free_cores(host, leases, request)
    asked = replace(request, cpus=_in_all(host, cores, request))
    if request.policy == "none" or not (request.ranks or request.devices):
        return _as_asked(host, place_whole(host, cores, asked), request)
    if request.policy == "single-numa-node":
        placed = place_whole(host, cores, asked)
        return _as_asked(host, _ranked(host, cores, placed, request), request)
    placed = _near_devices(host, cores, asked, request)
    if not placed.admitted or (request.policy == "restricted" and not placed.aligned):
        # The engine says why not, or knows other devices that are aligned.
        placed = _ranked(host, cores, place_whole(host, cores, asked), request)
    return _as_asked(host, placed, request)


def _near_devices(host: Host, cores: WholeCores, asked: JobRequest, request: JobRequest) -> Placed:
    """The policy is asked later."""
    narrowed, reason = _by_links(_on_its_nodes(host, cores, asked), cores, asked)
    open_to_all = replace(asked, policy="best-effort")
    placed = place_whole(narrowed, cores, open_to_all)
    if not placed.admitted and request.memory:
        # The memory manager gives no memory of several nodes where some of one is held; in parts there may be enough.
        bare = place_whole(narrowed, cores, replace(open_to_all, memory=0))
        parts = _in_parts(host, cores, replace(bare, request=asked), request) if bare.admitted else placed
        placed = parts if sum(block.size for block in parts.memory) == request.memory else placed
        return replace(placed, gpu_reason=reason or placed.gpu_reason)
    if placed.admitted:
        placed = replace(placed, request=asked, gpu_reason=reason or placed.gpu_reason)
        if request.ranks or not placed.aligned or _device_nodes(host, placed).bit_count() > 1:
            placed = _in_parts(host, cores, placed, request)
    return placed


def _device_nodes(host: Host, placed: Placed) -> int:
    own = {(resource, id) for resource, ids in placed.devices.items() for id in ids}
    nodes = (node_of_device(device) for device in host.machine.devices if (device.resource, device.id) in own)
    return mask_of(node for node in nodes if node is not None)


def _ranked(host: Host, cores: WholeCores, placed: Placed, request: JobRequest) -> Placed:
    return _in_parts(host, cores, placed, request) if placed.admitted and request.ranks else placed


def _as_asked(host: Host, placed: Placed, request: JobRequest) -> Placed:
    """With the devices in the order in which the machine has them: programs count them in the order of the lease."""
    order = {(device.resource, device.id): number for number, device in enumerate(host.machine.devices)}
    devices = {
        resource: tuple(sorted(ids, key=lambda id: (order.get((resource, id), len(order)), id)))
        for resource, ids in placed.devices.items()
    }
    if request.on_nodes and _device_nodes(host, placed) & ~request.on_nodes:
        placed = replace(placed, near=False)
    return replace(placed, devices=devices, request=request)


def check_parts(request: JobRequest) -> None:
    gpus = len_of_main(request.devices)
    ranks = request.ranks
    if ranks and request.cpus and request.cpus < ranks:
        raise InputError(
            f"--cpus {request.cpus} is less than one for each of {ranks} ranks",
            source="--ranks",
            cure="ask for more with --cpus-per-rank",
        )
    if ranks and gpus and ranks % gpus and gpus % ranks:
        raise InputError(
            f"{gpus} devices cannot be divided evenly between {ranks} ranks",
            source="--ranks",
            cure="let one be a multiple of the other",
        )


def cpus_in_all(host: Host, request: JobRequest) -> int:
    """What it takes when nobody holds anything, in whole cores where it gets them."""
    cores = free_cores(host, (), request)
    return cores.rounded(_in_all(host, cores, request))


def _in_all(host: Host, cores: WholeCores, request: JobRequest) -> int:
    """The CPUs of the job when each part has cores of its own."""
    gpus = len_of_main(request.devices)
    if request.ranks:
        total = sum(_rank_sizes(cores, request))
        for_whom = f"{request.ranks} ranks"
    elif request.cpus_per_gpu and gpus:
        total, for_whom = gpus * cores.rounded(request.cpus_per_gpu), f"{gpus} GPUs"
    else:
        return request.cpus
    if total > host.online.bit_count() >= request.cpus:
        raise InputError(
            f"whole cores for {for_whom} are {total} CPUs, this machine has {host.online.bit_count()}",
            cure="--threads asks for single threads",
        )
    return total


def _rank_sizes(cores: WholeCores, request: JobRequest) -> list[int]:
    """The CPUs of each process, in whole cores: as many as were asked for it, else even parts of the sum."""
    if not request.cpus or request.cpus_per_rank or request.cpus_per_gpu:
        return [cores.rounded(count) for count in _evenly(request.cpus, request.ranks)]
    whole = max(request.ranks, cores.rounded(request.cpus) // cores.size)
    return [count * cores.size for count in _evenly(whole, request.ranks)]


def _evenly(total: int, count: int) -> list[int]:
    whole, rest = divmod(total, count)
    return [whole + (number < rest) for number in range(count)]


# The devices


def _on_its_nodes(host: Host, cores: WholeCores, request: JobRequest) -> Host:
    """The host without the devices of other NUMA nodes than the job asked for, where those of its own are enough.
    Shared work asks the engine for nothing else that would draw it to a node."""
    if not request.on_nodes:
        return host
    ledger = ledger_of(host, node_of(host, request), cores.leases)
    own = _with_own_devices(host, request)
    for resource, count in request.devices.items():
        free = free_devices(ledger.device, resource)
        if count > sum(1 for device in own.machine.devices if device.resource == resource and device.id in free):
            return host
    return own


def _strictly(host: Host, request: JobRequest) -> Host:
    """Devices of other NUMA nodes than the job asked for are not for it."""
    own = _with_own_devices(host, request)
    for resource, count in request.devices.items():
        there, on_nodes = (sum(device.resource == resource for device in one.machine.devices) for one in (host, own))
        if on_nodes < count and there:
            where = f"NUMA node {cpuset_text(request.on_nodes)} has {on_nodes}"
            raise InputError(f"{count} {resource} are asked for, {where}", cure="ask for more nodes, or for less")
    return own


def _with_own_devices(host: Host, request: JobRequest) -> Host:
    """Only those of the NUMA nodes that the job asked for, and those of which nobody knows the node."""
    nodes = {device: node_of_device(device) for device in host.machine.devices}
    kept = tuple(device for device, numa in nodes.items() if numa is None or request.on_nodes >> numa & 1)
    return replace(host, machine=replace(host.machine, devices=kept))


def _by_links(host: Host, cores: WholeCores, request: JobRequest) -> tuple[Host, str]:
    """The host with only those of the free GPUs that are best linked, and why they are; as it is, where nothing is
    known of links."""
    if not host.machine.links or not request.devices:
        return host, ""
    node = node_of(host, request)
    ledger = ledger_of(host, node, cores.leases)
    hidden: set[tuple[str, str]] = set()
    reasons = []
    for resource, count in request.devices.items():
        free = free_devices(ledger.device, resource)
        gpus = tuple(gpu for gpu in host.machine.devices if gpu.kind == GPU and gpu.id in free)
        pairs = pairs_of(replace(host.machine, devices=gpus))
        sets = equal_sets(pairs, count)
        if sets:
            room = {numa: (cpus & cores.free).bit_count() for numa, cpus in node.cpu.topology.numa_nodes.items()}
            bytes_free = {numa: free_bytes(of) for numa, of in ledger.memory.nodes.items()} if request.memory else {}
            best = min(sets, key=lambda one: _lacking(one, count, request, room, bytes_free))
            chosen = {gpus[index].id for index in best.gpus}
            hidden |= {(resource, gpu.id) for gpu in gpus if gpu.id not in chosen}
            reasons.append(reason_text(pairs, best))
    kept = tuple(device for device in host.machine.devices if (device.resource, device.id) not in hidden)
    return replace(host, machine=replace(host.machine, devices=kept)), "; ".join(reasons)


def _lacking(
    chosen: BestSet, count: int, request: JobRequest, room: Mapping[int, int], bytes_free: Mapping[int, int]
) -> tuple[int, int]:
    """CPUs and bytes that the nodes of these GPUs do not have for them."""
    cpus = memory = 0
    for numa, gpus in chosen.split:
        if numa is not None:
            cpus += max(0, request.cpus * gpus // count - room.get(numa, 0))
            memory += max(0, request.memory * gpus // count - bytes_free.get(numa, 0))
    return cpus, memory


# The parts


def _in_parts(host: Host, cores: WholeCores, placed: Placed, request: JobRequest) -> Placed:
    """The same devices, and CPUs and memory at their nodes; as it was, where parts cannot have them. The request of the
    placed job has the CPUs of all parts in whole cores, `request` is the user's."""
    ledger = ledger_of(host, placed.node, cores.leases)
    parts = _parts_of(host, cores, placed, request)
    on_one = placed.aligned and placed.nodes.bit_count() == 1
    free = cores.free
    if on_one:
        home = _cpus_of_node(placed)
        caches = [cache for cache in placed.node.cpu.topology.uncore_caches.values() if cache & home]
        # The engine packs CPUs with no regard to caches: ranks have the choice of all that are free there.
        free = cores.free & home if request.ranks and len(caches) > 1 else placed.exclusive
    cutting = Cutting(placed.node.cpu, cores, distances(host.machine), free)
    taken = cutting.cpus(parts, placed.nodes)
    if taken is None and request.ranks and placed.exclusive:
        remark = f"its CPUs cannot be cut into whole cores for {request.ranks} ranks; --threads cuts them finer"
        return replace(placed, remarks=(*placed.remarks, remark))
    if taken is None or not parts:
        return placed
    if request.memory and not (on_one and placed.memory):
        held = memory_of_parts(taken, parts, request.memory, ledger.memory.nodes, cutting.distance)
        taken = held or [replace(one, near=False) for one in taken]
    exclusive = 0
    for one in taken:
        exclusive |= one.cpus
    sizes: dict[int, int] = {}
    for one in taken:
        for numa, size in one.memory:
            sizes[numa] = sizes.get(numa, 0) + size
    memory = tuple(Block((numa,), MEMORY, size) for numa, size in sorted(sizes.items())) if sizes else placed.memory
    on = mask_of(numa for block in memory for numa in block.numa) | mask_of(
        numa for numa, cpus in placed.node.cpu.topology.numa_nodes.items() if cpus & exclusive
    )
    nodes = on or placed.nodes
    mems = mask_of(numa for block in memory for numa in block.numa) or memory_near(host, request, nodes)
    return replace(
        placed,
        exclusive=exclusive,
        nodes=nodes,
        mems=mems,
        memory=memory,
        bind=way_of(request, memory),
        near=all(one.near for one in taken),
        shares=_shares(taken, parts, mems, cutting.distance) if request.ranks and exclusive else (),
    )


def _cpus_of_node(placed: Placed) -> int:
    """Of the NUMA nodes that it was placed on."""
    return sum(placed.node.cpu.topology.numa_nodes.get(numa, 0) for numa in members(placed.nodes))


def _parts_of(host: Host, cores: WholeCores, placed: Placed, request: JobRequest) -> list[JobPart]:
    devices = placed.devices
    order = {(device.resource, device.id): (number, device) for number, device in enumerate(host.machine.devices)}
    own = [(resource, id) for resource in main_resources(devices) for id in devices[resource]]
    main = [order[one][1] for one in sorted(own, key=lambda one: order[one][0])]
    if request.ranks:
        parts = _rank_parts(main, request.ranks)
        sizes = _rank_sizes(cores, request)
    else:
        by_node: dict[int | None, list[str]] = {}
        for device in main:
            by_node.setdefault(node_of_device(device), []).append(device.id)
        parts = [JobPart(tuple(ids), numa, len(ids)) for numa, ids in by_node.items()]
        units = cores.rounded(placed.request.cpus) // cores.size
        sizes = [count * cores.size for count in in_proportion(units, [part.weight for part in parts])]
    return [replace(part, cpus=size) for part, size in zip(parts, sizes, strict=True)]


def _rank_parts(devices: Sequence[Device], ranks: int) -> list[JobPart]:
    """Process number n has the n-th of the devices, counted around; with fewer processes, several each."""
    each = max(1, len(devices) // ranks)
    parts = []
    for rank in range(ranks):
        own = [devices[(rank * each + more) % len(devices)] for more in range(each)] if devices else []
        node = next((numa for device in own if (numa := node_of_device(device)) is not None), None)
        parts.append(JobPart(tuple(device.id for device in own), node, 1))
    return parts


def node_of_device(device: Device) -> int | None:
    return device.numa[0] if device.numa else device.driver_numa


def _shares(
    taken: Sequence[TakenPart], parts: Sequence[JobPart], mems: int, distance: Distance
) -> tuple[LeasePart, ...]:
    """The memory of each process: what it holds, else the nearest of the job's."""
    shares = []
    for one, part in zip(taken, parts, strict=True):
        nearest = nearest_first(members(mems), one.home, distance)
        held = [numa for numa, _ in one.memory] or nearest[:1]
        home = nearest_first(held, one.home, distance)[:1]
        text = cpuset_text(mask_of(held))
        if home != sorted(held)[:1]:
            text = f"{home[0]},{cpuset_text(mask_of(held) & ~mask_of(home))}"
        shares.append(LeasePart(cpuset_text(one.cpus), text, part.devices))
    return tuple(shares)
