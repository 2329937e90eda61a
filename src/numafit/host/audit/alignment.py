"""Whether CPUs, memory and GPUs of a process lie together, and how much of its memory lies elsewhere."""

from collections.abc import Iterator

import msgspec

from numafit.amounts import size_text
from numafit.bits import cpuset_text, mask_of, members
from numafit.host.audit.codes import (
    CPUS_APART,
    FAR_GPU,
    FAR_MEMORY,
    GPU_UNKNOWN,
    LOOSE_GPU,
    AuditFinding,
    finding,
    move_cure,
)
from numafit.host.gpu.users import GpuUse
from numafit.host.process.numa_maps import Pages
from numafit.host.process.observation import Observation
from numafit.machine.model import Device, Machine

WRONG_SHARE = 0.05
WRONG_BYTES = 16 << 20
"""Less than that, by share or by amount, is what programs share with others: libraries and what was read of files."""


class Misplaced(msgspec.Struct, frozen=True):
    wrong: dict[int, int]
    """NUMA node -> bytes."""
    of_files: int
    """The part of these bytes that is the cache of files."""
    total: int

    @property
    def amount(self) -> int:
        return sum(self.wrong.values())

    @property
    def text(self) -> str:
        nodes = cpuset_text(mask_of(self.wrong))
        files = f", {size_text(self.of_files)} of that of files" if self.of_files >= WRONG_BYTES else ""
        share = round(100 * self.amount / self.total)
        return f"{share}% of its memory ({size_text(self.amount)}{files}) lies on NUMA node {nodes}"

    def cure(self, pid: int, right: int) -> str:
        move = f"migratepages {pid} {cpuset_text(mask_of(self.wrong))} {cpuset_text(right)}"
        if 2 * self.of_files > self.amount:
            return f"{move}; the cache of files moves only when it is dropped and read again"
        return f"{move}; start it with numafit run, which binds before the first page"


def outside_of(machine: Machine, pages: Pages, right: int) -> dict[int, int]:
    """NUMA node -> bytes, for the other nodes. Memory that is a device's own does not count, nor what a policy
    `interleave` has spread."""
    own = mask_of(node.id for node in machine.numa_nodes if node.device)
    outside = [node for node in pages.nodes if not (right | own) >> node & 1]
    amounts = {node: pages.nodes[node] - pages.interleaved.get(node, 0) for node in outside}
    return {node: amount for node, amount in amounts.items() if amount}


def misplaced(machine: Machine, pages: Pages | None, right: int) -> Misplaced | None:
    """None when all is well, little is wrong or nothing is known."""
    if pages is None or not right:
        return None
    wrong = outside_of(machine, pages, right)
    found = Misplaced(wrong, sum(pages.file_nodes.get(node, 0) for node in wrong), pages.total)
    if found.amount < WRONG_BYTES or found.amount < WRONG_SHARE * pages.total:
        return None
    return found


def audit_process(machine: Machine, process: Observation) -> list[AuditFinding]:
    found = list(_cpus(machine, process))
    found += _memory(machine, process)
    return found + list(gpu_findings(machine, process.name, process, process.all_cpus, promised=False))


def cpus_of_nodes(machine: Machine) -> dict[int, int]:
    """NUMA node -> its CPUs, by node; nodes without CPUs are not among them."""
    nodes: dict[int, int] = {}
    for cpu in machine.cpus:
        if cpu.online:
            nodes[cpu.numa] = nodes.get(cpu.numa, 0) | 1 << cpu.id
    return dict(sorted(nodes.items()))


def nodes_of(machine: Machine, cpus: int) -> int:
    return mask_of(node for node, mask in cpus_of_nodes(machine).items() if mask & cpus)


def _cpus(machine: Machine, process: Observation) -> Iterator[AuditFinding]:
    cpus, nodes = process.all_cpus, cpus_of_nodes(machine)
    touched = {node: mask for node, mask in nodes.items() if mask & cpus}
    if len(touched) < 2:
        return
    # Where most of them are already; of equals the lowest.
    enough = [node for node, mask in nodes.items() if mask.bit_count() >= cpus.bit_count()]
    if not enough:
        return
    best = max(enough, key=lambda node: ((nodes[node] & cpus).bit_count(), -node))
    count = cpus.bit_count()
    yield finding(
        CPUS_APART,
        process.name,
        process.pid,
        f"it may run on the {count} CPUs {cpuset_text(cpus)} of NUMA node {cpuset_text(mask_of(touched))}, "
        f"and {count} fit on one node",
        f"{move_cure(process.pid, cpuset_text(nodes[best]))}, or start it with numafit run --cpus {count}",
    )


def _memory(machine: Machine, process: Observation) -> Iterator[AuditFinding]:
    near = nodes_of(machine, process.all_cpus)
    wrong = misplaced(machine, process.pages, near | _memory_only(machine, near))
    if wrong is not None:
        cpus = cpuset_text(process.all_cpus)
        sentence = f"{wrong.text}, but its CPUs {cpus} are on NUMA node {cpuset_text(near)}"
        yield finding(FAR_MEMORY, process.name, process.pid, sentence, wrong.cure(process.pid, near))


def _memory_only(machine: Machine, near: int) -> int:
    """Nodes without CPUs that no node with CPUs is nearer to than those of `near`; unknown distances count as near."""
    with_cpus, mask = list(cpus_of_nodes(machine)), 0
    places = {node.id: place for place, node in enumerate(sorted(machine.numa_nodes, key=lambda node: node.id))}
    for node in machine.numa_nodes:
        if node.id in with_cpus:
            continue
        distances = node.distances
        if distances is None or len(distances) != len(places):
            mask |= 1 << node.id
            continue
        best = min(distances[places[other]] for other in with_cpus if other in places)
        if any(distances[places[other]] == best for other in members(near) if other in places):
            mask |= 1 << node.id
    return mask


def gpu_findings(
    machine: Machine, subject: str, process: Observation, cpus: int, *, promised: bool
) -> Iterator[AuditFinding]:
    near, places = nodes_of(machine, cpus), {}
    if len(cpus_of_nodes(machine)) < 2 or not near:
        return
    for use in process.gpus or ():
        node = gpu_node(machine, use)
        if node is None:
            yield finding(
                GPU_UNKNOWN,
                subject,
                process.pid,
                f"on which NUMA node {use.id} hangs is not known: neither /sys nor the driver names one",
                "say it in a machine file (numa of the device) and pass that by --machine",
            )
            continue
        places[use.id] = node
        if not near >> node & 1:
            yield finding(
                FAR_GPU,
                subject,
                process.pid,
                f"{use.id} hangs on NUMA node {node}, its CPUs {cpuset_text(cpus)} are on {cpuset_text(near)}",
                _near_gpu(machine, process.pid, node),
            )
    homes = set(places.values())
    # What spans several nodes by promise was meant so, or had to.
    if not promised and len(homes) == 1 and near & ~mask_of(homes) and near & mask_of(homes):
        (node,) = homes
        yield finding(
            LOOSE_GPU,
            subject,
            process.pid,
            f"{', '.join(places)} hangs on NUMA node {node}, but it may run on NUMA node {cpuset_text(near)}",
            _near_gpu(machine, process.pid, node),
        )


def _near_gpu(machine: Machine, pid: int, node: int) -> str:
    cpus = cpus_of_nodes(machine).get(node)
    if not cpus:
        return "start it with numafit run --gpus, which takes CPUs near the GPU"
    return f"{move_cure(pid, cpuset_text(cpus))}, or start it with numafit run --gpus"


def gpu_node(machine: Machine, use: GpuUse) -> int | None:
    """What /sys says, else the driver; None when neither names exactly one node."""
    device = _device(machine, use)
    if device is None:
        return None
    if device.numa:
        return device.numa[0] if len(device.numa) == 1 else None
    return device.driver_numa


def _device(machine: Machine, use: GpuUse) -> Device | None:
    """A slice hangs where its GPU hangs."""
    by_id = {device.id: device for device in machine.devices}
    device = by_id.get(use.id)
    if device is not None and device.parent:
        device = by_id.get(device.parent, device)
    if device is None or not (device.numa or device.driver_numa is not None):
        same = [other for other in machine.devices if use.bus and other.bus == use.bus]
        return same[0] if same else device
    return device
