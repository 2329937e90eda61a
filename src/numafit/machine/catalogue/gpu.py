"""Machines of the catalogue with GPUs. Amounts of memory are nominal, unless a comment says who printed them.

Each comment names pages that were read. Where none about the machine itself told a number, it is taken from a page
about the same processors or the same generation, which is then named. What is a guess is called so, and listed under
`assumed` where that has a word for it.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from numafit.machine.model import Device, Link, Machine, NumaNode
from numafit.machine.order import in_kubelet_order
from numafit.machine.shape import DevicePlace, Shape, machine_of_shape

GI, MI = 1 << 30, 1 << 20
_A100 = "NVIDIA A100-SXM4-40GB"


def _gpus(*nodes: int) -> tuple[DevicePlace, ...]:
    """One GPU on each of these NUMA nodes, numbered from 0."""
    return tuple(DevicePlace("gpu", number, node) for number, node in enumerate(nodes))


def _named(machine: Machine, product: str, memory: int) -> Machine:
    return replace(machine, devices=tuple(replace(gpu, name=product, memory=memory) for gpu in machine.devices))


def _with_nics(machine: Machine, nodes: Sequence[int | None], near: str, pairs: Mapping[int, Sequence[int]]) -> Machine:
    """With a network card on each of these NUMA nodes (None: the source does not tell it), and the way of each GPU to
    each of them: `near` to those in `pairs`, else across NUMA nodes. How cards reach each other is not told."""
    nics = tuple(
        Device("", f"NIC{number}", None if node is None else (node,), kind="nic", label=f"NIC{number}")
        for number, node in enumerate(nodes)
    )
    links = tuple(
        Link(gpu.id, nic.id, near if number in pairs.get(place, ()) else "SYS")
        for place, gpu in enumerate(machine.devices)
        for number, nic in enumerate(nics)
    )
    places = {device.id: place for place, device in enumerate(machine.devices + nics)}
    ordered = sorted(machine.links + links, key=lambda link: (places[link.a], places[link.b]))
    return replace(machine, devices=machine.devices + nics, links=tuple(ordered))


def p100_box(name: str) -> Machine:
    # From a field report on kubelet 1.20, the post "K8S基于NUMA亲和性的资源分配特性测试": `nvidia-smi topo -mp`,
    # `nvidia-smi -L`, `lspci` and state files of the box. That it runs without SMT is guessed from the ranges 0-13
    # and 14-27. Memory, sockets and distances are not told: 64 GiB per NUMA node, one socket each, 10 and 21 stand in.
    uuids = (
        "GPU-77a702db-e37f-3a74-d46d-c5713f66058c",
        "GPU-9b341c59-f96b-ba85-c137-78c3652fea65",
        "GPU-c1e9f249-b37b-81c2-a8d9-ba5ca0294841",
    )
    shape = Shape(sockets=2, cores=14, memory=(64 * GI,) * 2, distances=(10, 21, 21), devices=_gpus(0, 1, 1))
    machine = _named(machine_of_shape(shape, name=name), "Tesla P100-PCIE-16GB", 16 * GI)
    machine = replace(machine, assumed=("core", "socket", "memory", "distances"))
    return _with_ids(machine, uuids)


def _with_ids(machine: Machine, ids: Sequence[str]) -> Machine:
    by_label = {device.id: id for device, id in zip(machine.devices, ids, strict=True)}
    return replace(
        machine,
        devices=tuple(replace(device, id=by_label[device.id]) for device in machine.devices),
        links=tuple(Link(by_label[link.a], by_label[link.b], link.kind) for link in machine.links),
    )


def eight_gpu_box(name: str) -> Machine:
    # From a field report, the post "Kubernetes CPU&NUMA亲和性调度": `nvidia-smi topo -m` of the box. That CPU n shares
    # a core with n + 64 is guessed from the ranges; memory, sockets and distances are not told, as above.
    shape = Shape(
        sockets=2,
        cores=32,
        threads=2,
        memory=(256 * GI,) * 2,
        distances=(10, 21, 21),
        devices=_gpus(0, 0, 0, 0, 1, 1, 1, 1),
        links=(("PIX", (0, 1)), ("PIX", (2, 3)), ("PIX", (4, 5)), ("PIX", (6, 7))),
    )
    return replace(machine_of_shape(shape, name=name), assumed=("core", "socket", "memory", "distances"))


def dgx_a100(name: str) -> Machine:
    # 2 EPYC 7742 of 64 cores, 8 A100, 1 TB of memory: Hardware Times on the DGX A100, "… leverage AMD Epyc Rome CPUs
    # instead of Intel Xeon". SMT, and 16 MB of L3 cache per 4 cores: KIT, "Hardware Overview" of HAICORE, for nodes
    # with the same processors and GPUs (256 threads, 16 x 16 MiB per processor). NUMA nodes of GPU 0 to 4, CPU numbers
    # and NV12: `nvidia-smi topo -m` of a DGX A100 40GB in NCCL's issue 1505; GPU 5 to 7 go on with the pattern of all
    # eight (3 3 1 1 7 7 5 5) on smaller processors in NCCL's issue 1435. Distances: `numactl -H` on two 64-core
    # processors of this series with four NUMA nodes each (eth-cscs/cscs-docs, docs/running/slurm.md). Network cards:
    # the same matrix for GPU 0 to 4, from where the pattern goes on, and its XML for the node of the fifth and sixth;
    # that of the last two is not told.
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
    machine = _named(machine_of_shape(shape, name=name, model="AMD EPYC 7742 64-Core Processor"), _A100, 40 * GI)
    places = (3, 3, 1, 1, 0, 0, 7, 7, 5, 5, None, None)
    beside = {0: (0, 1), 1: (0, 1), 2: (2, 3), 3: (2, 3), 4: (6, 7), 5: (6, 7), 6: (8, 9), 7: (8, 9)}
    return _with_nics(machine, places, "PXB", beside)


def dgx_h100(name: str) -> Machine:
    # 2 Xeon Platinum 8480C, 112 cores, 2 TB of memory, 640 GB of GPU memory: NVIDIA DGX BasePOD Reference Architecture,
    # "Core Components". SMT, NUMA nodes, NV18 and network cards: `nvidia-smi topo -m` of an HGX H100 in NCCL's issue
    # 1264, which does not tell the nodes of the two cards that stand beside no GPU. Guessed from others of the
    # generation: 105 MB of L3 cache (`lscpu` on the 8480+, see `xeon_snc4`), and the distances of
    # two sockets (`numactl -H` on Aurora, argonne-lcf/user-guides, pull request 756).
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
    machine = replace(_named(machine, "NVIDIA H100 80GB HBM3", 80 * GI), assumed=("distances",))
    beside = {gpu: (nic,) for gpu, nic in enumerate((0, 1, 2, 5, 6, 7, 8, 9))}
    return _with_nics(machine, (0, 0, 0, None, None, 0, 1, 1, 1, 1), "PIX", beside)


def hgx_a100(name: str) -> Machine:
    # A node of JUWELS Booster: 2 EPYC 7402 of 24 cores with SMT, 4 NUMA nodes each, 512 GB of memory, 4 A100 of 40 GB
    # (Jülich Supercomputing Centre, "JUWELS Booster Overview"). NUMA nodes of the GPUs: POP, "GPU affinity on one node
    # with 4 GPUs (JUWELS Booster)". 128 MB of L3 cache: `lscpu` on the 7402P, gist "lscpu - amd epyc 7402"; as a core
    # complex of this series has 16 MB (see DGX A100), three cores share one. NV4: four A100 on Polaris, ALCF's page
    # in argonne-lcf/user-guides, docs/polaris/hardware-overview/machine-overview.md. Distances as in the DGX A100.
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
    return _named(machine, _A100, 40 * GI)


# Grace: 72 cores without SMT, `lscpu` in archspec-json's issue 83; 114 MB of L3 cache, `lstopo` in hwloc's issue 689
# (MLPerf's inference_results_v6.1 has a GB200 system with 234 MB for two). Each GPU has eight NUMA nodes, of which the
# first holds its memory and the others are for MIG: mlperf-common's pull request 16, and the page on GB200 below.
_GRACE = Shape(cores=72, l3_cores=72, l3_size=114 * MI)
_GPU_NODES = 8
_CPU_TO_CPU, _TO_OWN_GPU, _TO_OTHER_GPU = 40, 80, 120


def grace_hopper(name: str) -> Machine:
    # GH200 with 480 GB of memory and 96 GB of HBM3: a login node of JUPITER (Jülich Supercomputing Centre, JUPITER,
    # "Configuration"). Nine NUMA nodes: `lscpu` in xpu-perf's issue 129. Distances: `numactl -H` of a machine with four
    # GH200 in numactl's issue 224.
    shape = replace(_GRACE, memory=(480 * GI,), devices=_gpus(0))
    machine = _named(machine_of_shape(shape, name=name, model="Neoverse-V2"), "NVIDIA GH200 480GB", 96 * GI)
    return _with_gpu_nodes(machine, within=255, between=255)


def gb200(name: str) -> Machine:
    # CPUs, 480 GB at each CPU node, 34 NUMA nodes, 184 GiB at each GPU (188416 MB; MLPerf's list says 186 GB) and all
    # distances: `numactl -H` in NVIDIA's "Scaling Expert Parallelism in TensorRT LLM (Part 2)" (NVIDIA/TensorRT-LLM,
    # docs/source/blogs/tech_blog/blog08). Places of the GPUs, NV18 and six network cards, whose NUMA nodes are not
    # told: `nvidia-smi topo -m` in SGLang's issue 11208.
    shape = replace(
        _GRACE, sockets=2, memory=(480 * GI,) * 2, devices=_gpus(0, 0, 1, 1), links=(("NV18", (0, 1, 2, 3)),)
    )
    machine = _named(machine_of_shape(shape, name=name, model="Neoverse-V2"), "NVIDIA GB200", 184 * GI)
    return _with_nics(_with_gpu_nodes(machine, within=11, between=40), (None,) * 6, "", {})


def _with_gpu_nodes(machine: Machine, *, within: int, between: int) -> Machine:
    """The machine with eight more NUMA nodes per GPU; the distances are those among nodes of one GPU and of two."""
    cpu_nodes = {node.id: node for node in machine.numa_nodes}
    owners = [device for device in machine.devices for _ in range(_GPU_NODES)]
    count = len(cpu_nodes) + len(owners)

    def distance(one: int, other: int) -> int:
        if one == other:
            return 10
        low, high = (number - len(cpu_nodes) for number in sorted((one, other)))
        if high < 0:
            return _CPU_TO_CPU
        if low >= 0:
            return within if owners[low] == owners[high] else between
        return _TO_OWN_GPU if owners[high].numa == (low + len(cpu_nodes),) else _TO_OTHER_GPU

    nodes = []
    for id in range(count):
        distances = tuple(distance(id, other) for other in range(count))
        if id in cpu_nodes:
            nodes.append(replace(cpu_nodes[id], distances=distances))
            continue
        number = id - len(cpu_nodes)
        memory = owners[number].memory if number % _GPU_NODES == 0 else 0
        nodes.append(NumaNode(id, memory, distances=distances, device=owners[number].id))
    return replace(machine, numa_nodes=in_kubelet_order(nodes))
