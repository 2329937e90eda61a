"""Machines of the catalogue with GPUs. Amounts of memory are nominal.

Where a comment names a maker's datasheet, user guide or product page, that is where the number is published; it was not
read there for this file, and where publications differ (Grace: 114 or 117 MB of L3 cache) one is taken. NUMA layouts,
links and distances were read in the issues and pages named.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from numafit.machine.model import Device, Link, Machine, NumaNode
from numafit.machine.reading import in_kubelet_order
from numafit.machine.shape import Place, Shape, machine_of_shape

GI, MI = 1 << 30, 1 << 20


def _gpus(*nodes: int) -> tuple[Place, ...]:
    """One GPU on each of these NUMA nodes, numbered from 0."""
    return tuple(Place("gpu", number, node) for number, node in enumerate(nodes))


def _named(machine: Machine, product: str, memory: int) -> Machine:
    return replace(machine, devices=tuple(replace(gpu, name=product, memory=memory) for gpu in machine.devices))


def p100_box(name: str) -> Machine:
    # From a field report on kubelet 1.20: `nvidia-smi topo -mp`, `nvidia-smi -L` and `lspci` of the box. Its memory
    # and sockets are not told: 64 GiB per NUMA node and one socket each are stand-ins.
    uuids = (
        "GPU-77a702db-e37f-3a74-d46d-c5713f66058c",
        "GPU-9b341c59-f96b-ba85-c137-78c3652fea65",
        "GPU-c1e9f249-b37b-81c2-a8d9-ba5ca0294841",
    )
    shape = Shape(sockets=2, cores=14, memory=(64 * GI,) * 2, distances=(10, 21, 21), devices=_gpus(0, 1, 1))
    machine = _named(machine_of_shape(shape, name=name), "Tesla P100-PCIE-16GB", 16 * GI)
    machine = replace(machine, assumed=("socket", "memory"))
    return _with_ids(machine, uuids)


def _with_ids(machine: Machine, ids: Sequence[str]) -> Machine:
    by_label = {device.id: id for device, id in zip(machine.devices, ids, strict=True)}
    return replace(
        machine,
        devices=tuple(replace(device, id=by_label[device.id]) for device in machine.devices),
        links=tuple(Link(by_label[link.a], by_label[link.b], link.kind) for link in machine.links),
    )


def eight_gpu_box(name: str) -> Machine:
    # From a field report: `nvidia-smi topo -m` of the box. Its memory and sockets are stand-ins, as above.
    shape = Shape(
        sockets=2,
        cores=32,
        threads=2,
        memory=(256 * GI,) * 2,
        distances=(10, 21, 21),
        devices=_gpus(0, 0, 0, 0, 1, 1, 1, 1),
        links=(("PIX", (0, 1)), ("PIX", (2, 3)), ("PIX", (4, 5)), ("PIX", (6, 7))),
    )
    return replace(machine_of_shape(shape, name=name), assumed=("socket", "memory"))


def dgx_a100(name: str) -> Machine:
    # NVIDIA DGX A100 User Guide: 2 AMD EPYC 7742 (64 cores, SMT, 16 MB of L3 cache per 4 cores), 1 TB of memory, 8
    # A100 of 40 GB on NVSwitch. NUMA nodes of the GPUs (3 3 1 1 7 7 5 5) and NV12: `nvidia-smi topo -m` in NCCL's
    # issue 1505.
    shape = Shape(
        sockets=2,
        numa=4,
        cores=16,
        threads=2,
        memory=(128 * GI,) * 8,
        distances=(10, 12, 32),
        l3_cores=4,
        l3_size=16 * MI,
        devices=_gpus(3, 3, 1, 1, 7, 7, 5, 5),
        links=(("NV12", tuple(range(8))),),
    )
    machine = machine_of_shape(shape, name=name, model="AMD EPYC 7742 64-Core Processor")
    return _named(machine, "NVIDIA A100-SXM4-40GB", 40 * GI)


def dgx_h100(name: str) -> Machine:
    # NVIDIA DGX H100 User Guide: 2 Intel Xeon Platinum 8480C (56 cores, SMT, 105 MB of L3 cache), 2 TB of memory, 8
    # H100 of 80 GB on NVSwitch. CPUs 0-55,112-167 and GPUs 0-3 on NUMA node 0, NV18: `nvidia-smi topo -m` in vLLM's
    # issue 13855.
    shape = Shape(
        sockets=2,
        cores=56,
        threads=2,
        memory=(1024 * GI,) * 2,
        distances=(10, 21, 21),
        l3_cores=56,
        l3_size=105 * MI,
        devices=_gpus(0, 0, 0, 0, 1, 1, 1, 1),
        links=(("NV18", tuple(range(8))),),
    )
    machine = machine_of_shape(shape, name=name, model="Intel(R) Xeon(R) Platinum 8480C")
    return _named(machine, "NVIDIA H100 80GB HBM3", 80 * GI)


def hgx_a100(name: str) -> Machine:
    # A node of JUWELS Booster: 2 AMD EPYC 7402 (24 cores, SMT, 16 MB of L3 cache per 3 cores) in NPS4, 512 GB of
    # memory, HGX board with 4 A100 of 40 GB (overview of the Jülich Supercomputing Centre); their NUMA nodes 3, 1, 7
    # and 5: the POP project's page on GPU affinity there. Four NVLinks between each two (NVIDIA A100 datasheet, HGX
    # 4-GPU).
    shape = Shape(
        sockets=2,
        numa=4,
        cores=6,
        threads=2,
        memory=(64 * GI,) * 8,
        distances=(10, 12, 32),
        l3_cores=3,
        l3_size=16 * MI,
        devices=_gpus(3, 1, 7, 5),
        links=(("NV4", tuple(range(4))),),
    )
    machine = machine_of_shape(shape, name=name, model="AMD EPYC 7402 24-Core Processor")
    return _named(machine, "NVIDIA A100-SXM4-40GB", 40 * GI)


# Grace: 72 Neoverse V2 cores without SMT, 114 MB of L3 cache, 480 GB of LPDDR5X (NVIDIA Grace CPU datasheet). Each
# GPU has eight NUMA nodes: the first holds its memory, the others are for its MIG slices (NVIDIA, Grace Performance
# Tuning Guide). The distances between CPUs, to the own and to another socket's GPU, and among GPU nodes: `numactl -H`
# of a machine with four GH200 in numactl's issue 224.
_GRACE = Shape(cores=72, l3_cores=72, l3_size=114 * MI)
_GPU_NODES = 8
_CPU_TO_CPU, _TO_OWN_GPU, _TO_OTHER_GPU, _GPU_TO_GPU = 40, 80, 120, 255


def grace_hopper(name: str) -> Machine:
    # GH200 with 96 GB of HBM3 (NVIDIA GH200 datasheet); nine NUMA nodes: `lscpu` in xpu-perf's issue 129.
    shape = replace(_GRACE, memory=(480 * GI,), devices=_gpus(0))
    machine = _named(machine_of_shape(shape, name=name, model="Neoverse-V2"), "NVIDIA GH200 480GB", 96 * GI)
    return _with_gpu_nodes(machine)


def gb200(name: str) -> Machine:
    # One compute tray of GB200 NVL72: 2 Grace, 4 Blackwell with 186 GB of HBM3e each (NVIDIA GB200 NVL72 datasheet).
    # GPUs 0 and 1 at CPUs 0-71, GPUs 2 and 3 at CPUs 72-143: srt-slurm's pull request 164. NV18: MLPerf system
    # description.
    shape = replace(
        _GRACE, sockets=2, memory=(480 * GI,) * 2, devices=_gpus(0, 0, 1, 1), links=(("NV18", (0, 1, 2, 3)),)
    )
    machine = _named(machine_of_shape(shape, name=name, model="Neoverse-V2"), "NVIDIA GB200", 186 * GI)
    return _with_gpu_nodes(machine)


def _with_gpu_nodes(machine: Machine) -> Machine:
    """The machine with eight more NUMA nodes per GPU, and the distances of coherent GPU memory."""
    cpu_nodes = {node.id: node for node in machine.numa_nodes}
    owners = [device for device in machine.devices for _ in range(_GPU_NODES)]
    count = len(cpu_nodes) + len(owners)
    nodes = []
    for id in range(count):
        distances = tuple(_distance(id, other, len(cpu_nodes), owners) for other in range(count))
        if id in cpu_nodes:
            nodes.append(replace(cpu_nodes[id], distances=distances))
            continue
        number = id - len(cpu_nodes)
        memory = owners[number].memory if number % _GPU_NODES == 0 else 0
        nodes.append(NumaNode(id, memory, distances=distances, device=owners[number].id))
    return replace(machine, numa_nodes=in_kubelet_order(nodes))


def _distance(one: int, other: int, cpu_nodes: int, owners: Sequence[Device]) -> int:
    if one == other:
        return 10
    low, high = sorted((one, other))
    if high < cpu_nodes:
        return _CPU_TO_CPU
    if low >= cpu_nodes:
        return _GPU_TO_GPU
    return _TO_OWN_GPU if owners[high - cpu_nodes].numa == (low,) else _TO_OTHER_GPU
