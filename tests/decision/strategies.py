"""Nodes for tests: machines, settings and pods written by hand in one line, and random ones for the laws."""

from collections.abc import Mapping, Sequence

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.decision.node import Node
from numafit.decision.start import Start, start
from numafit.ledger.ledger import Hint, Ledger
from numafit.machine.model import Cpu, Device, Machine, NumaNode
from numafit.managers.ask import ask_of
from numafit.managers.device.plugin import Plugin, Preference
from numafit.managers.protocol import Call, Choices
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.gates import default_gates
from numafit.settings.settings import ReservedMemory, Settings
from numafit.settings.versions import parse_version
from numafit.workload.pod import Container, Pod, PodResources
from tests.machine.shapes import regular

GI = 1 << 30
MI = 1 << 20
GPU = "nvidia.com/gpu"
NIC = "example.com/nic"

# --- by hand ---------------------------------------------------------------------------------------------------------


def amounts(texts: Mapping[str, str] | None) -> dict[str, Quantity]:
    return {name: parse_quantity(text) for name, text in (texts or {}).items()}


def container(
    name: str,
    limits: Mapping[str, str] | None = None,
    *,
    requests: Mapping[str, str] | None = None,
    restartable: bool = False,
    allocated: Mapping[str, str] | None = None,
) -> Container:
    """Requests are the limits unless given, as after the API server's defaulting."""
    wanted = amounts(limits if requests is None else requests)
    known = None if allocated is None else amounts(allocated)
    return Container(name, wanted, amounts(limits), restartable, known)


def cpus(name: str, count: str, devices: Mapping[str, str] | None = None, *, restartable: bool = False) -> Container:
    """A container that keeps its pod Guaranteed: `count` CPUs and a gibibyte."""
    return container(name, {"cpu": count, "memory": "1Gi", **(devices or {})}, restartable=restartable)


def memory(name: str, size: str, more: Mapping[str, str] | None = None, *, restartable: bool = False) -> Container:
    """A Guaranteed container of one tenth of a CPU, which takes no exclusive one."""
    return container(name, {"cpu": "100m", "memory": size, **(more or {})}, restartable=restartable)


def pod(
    uid: str, *containers: Container, init: Sequence[Container] = (), whole: Mapping[str, str] | None = None
) -> Pod:
    """`whole`: pod-level requests and limits."""
    resources = None if whole is None else PodResources(amounts(whole), amounts(whole))
    return Pod(uid, f"pod-{uid}", containers, tuple(init), resources=resources)


def settings(
    version: str = "1.36",
    *,
    cpu: str = "none",
    options: Mapping[str, str] | None = None,
    reserved: str = "1",
    reserved_cpus: str = "",
    memory: str = "None",
    reserved_memory: Mapping[int, Mapping[str, str]] | None = None,
    topology: str = "none",
    scope: str = "container",
    gates: Mapping[str, bool] | None = None,
) -> Settings:
    """`reserved` is the CPU reservation; that of memory follows from `reserved_memory`, as it must."""
    parsed = parse_version(version)
    listed = tuple(ReservedMemory(node, amounts(limits)) for node, limits in (reserved_memory or {}).items())
    reservation = amounts({"cpu": reserved} if reserved else None)
    for item in listed:
        for name, size in item.limits.items():
            reservation[name] = reservation[name] + size if name in reservation else size
    on = {"CPUManagerPolicyAlphaOptions": True} if options else {}
    return Settings(
        parsed,
        cpu_policy=cpu,
        cpu_options=options or {},
        memory_policy=memory,
        reserved_memory=listed,
        topology_policy=topology,
        topology_scope=scope,
        gates={**default_gates(parsed), **on, **(gates or {})},
        reserved_cpus=reserved_cpus,
        reservation=reservation,
        state_dir="/var/lib/kubelet",
    )


def box(
    numa_nodes: int,
    cores: int,
    threads: int = 1,
    *,
    sockets: int = 0,
    memory: int = 0,
    hugepages: Mapping[int, int] | None = None,
    devices: Sequence[Device] = (),
) -> Machine:
    """`cores` in the whole machine, `memory` bytes and `hugepages` on each NUMA node; by default a socket per node."""
    nodes = tuple(NumaNode(i, memory, dict(hugepages or {})) for i in range(numa_nodes))
    machine = regular(numa_nodes, sockets or numa_nodes, cores, threads)
    return replace(machine, numa_nodes=nodes, devices=tuple(devices))


def gpus(*nodes: int | None) -> tuple[Device, ...]:
    """GPU0, GPU1, … on these NUMA nodes; None: without topology."""
    return tuple(Device(GPU, f"GPU{i}", None if node is None else (node,)) for i, node in enumerate(nodes))


SEED_BOX = box(2, 28, devices=gpus(0, 1, 1))
"""28 CPUs without SMT on two NUMA nodes; GPU0 on node 0, GPU1 and GPU2 on node 1."""


def running(machine: Machine, ordered: Settings, plugins: Mapping[str, Plugin] | None = None) -> tuple[Node, Ledger]:
    """A node whose kubelet started without state files, and whose plugins, plain ones unless told, have registered."""
    if plugins is None:
        plugins = {device.resource: Plugin() for device in machine.devices}
    known = start(Start(machine=machine, settings=ordered, plugins=plugins))
    return known.node, known.ledger


def call_for(
    node: Node, ledger: Ledger, wanted: Pod, affinity: Hint = (None, False), choices: Choices | None = None
) -> Call:
    """An admission of `wanted` as the managers meet it: the pod is active, all its containers have this hint."""
    hints = {container.name: affinity for container in wanted.all_containers}
    ledger = replace(
        ledger,
        active={**ledger.active, wanted.uid: wanted},
        affinity={**ledger.affinity, wanted.uid: hints},
    )
    return Call(ledger, ask_of(wanted, node.settings), choices or Choices())


# --- at random -------------------------------------------------------------------------------------------------------


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """One to four NUMA nodes of any ids, some without CPUs; SMT or not; huge pages; devices of two resources.

    All nodes that have CPUs have equally many: where sockets differ in size the kubelet may give a CPU away twice.
    """
    ids = sorted(draw(st.sets(st.integers(0, 9), min_size=1, max_size=4)))
    with_cpus = [ids[0], *(i for i in ids[1:] if draw(st.integers(0, 3)))]
    threads, per_node = draw(st.sampled_from([1, 2])), draw(st.integers(2, 6))
    cores = len(with_cpus) * per_node
    one_socket = draw(st.booleans())
    found = [
        Cpu(core + thread * cores, core, 0 if one_socket else with_cpus[core // per_node], with_cpus[core // per_node])
        for core in range(cores)
        for thread in range(threads)
    ]
    pages = {2 * MI: draw(st.sampled_from([0, 256]))} if draw(st.booleans()) else {}
    nodes = tuple(NumaNode(i, draw(st.sampled_from([2 * GI, 4 * GI, 7 * GI])), pages) for i in ids)
    place = st.one_of(st.none(), st.sampled_from(ids).map(lambda i: (i,)))
    devices = tuple(
        Device(resource, f"{resource[:3]}-{i}", draw(place))
        for resource in (GPU, NIC)
        for i in range(draw(st.sampled_from([6, 4, 0])))
    )
    return Machine(tuple(found), nodes, devices)


class Ordered(msgspec.Struct, frozen=True):
    """A machine with settings that its kubelet starts with."""

    machine: Machine
    settings: Settings
    plugins: Mapping[str, Plugin]


VERSIONS = ("1.20.1", "1.22.17", "1.23.17", "1.27.3", "1.31.14", "1.32.13", "1.34.11", "1.36.4")
POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
CALM: tuple[Preference, ...] = ("none", "first", "last", "short")


@st.composite
def nodes(
    draw: st.DrawFn,
    *,
    versions: Sequence[str] = VERSIONS,
    policies: Sequence[str] = POLICIES,
    preferences: Sequence[Preference] = (*CALM, "error"),
) -> Ordered:
    """CPU, memory and topology managers in any combination; the first NUMA node reserves a little of everything."""
    machine = draw(machines())
    version = draw(st.sampled_from(versions))
    options: dict[str, str] = {}
    cpu = draw(st.sampled_from(["static", "static", "none"]))
    if cpu == "static" and parse_version(version).minor >= 23 and draw(st.booleans()):
        options[draw(st.sampled_from(["full-pcpus-only", "distribute-cpus-across-numa"]))] = "true"
    ordered = settings(
        version,
        cpu=cpu,
        options=options,
        memory=draw(st.sampled_from(["Static", "Static", "None"])),
        reserved_memory={machine.numa_nodes[0].id: {"memory": "512Mi"}},
        topology=draw(st.sampled_from(policies)),
        scope=draw(st.sampled_from(["container", "pod"])),
    )
    plugins = {}
    for resource in (GPU, NIC):
        broken = draw(st.integers(0, 19)) == 7
        plugins[resource] = Plugin(
            draw(st.sampled_from(preferences)), allocate_error="the plugin is out of order" if broken else ""
        )
    return Ordered(machine, ordered, plugins)


SELDOM = (*[None] * 7, "0", "1", "2")
OFTEN = ("1", None, "2")
"""How many devices of a resource a container asks for; None: it does not mention the resource."""


@st.composite
def containers(
    draw: st.DrawFn, name: str, *, restartable: bool = False, devices: Sequence[str | None] = SELDOM
) -> Container:
    limits = {
        "cpu": draw(st.sampled_from(["1", "2", "3", "4", "500m"])),
        "memory": draw(st.sampled_from(["256Mi", "1Gi", "3Gi", "5Gi", "8Gi"])),
    }
    for resource in (GPU, NIC):
        count = draw(st.sampled_from(devices))
        if count is not None:
            limits[resource] = count
    guaranteed = draw(st.integers(0, 7)) > 0
    requests = limits if guaranteed else {**limits, "cpu": "100m"}
    return container(name, limits, requests=requests, restartable=restartable)


@st.composite
def pods(draw: st.DrawFn, uid: str, devices: Sequence[str | None] = SELDOM) -> Pod:
    """Up to two init containers, sidecars among them, and one or two app containers."""
    init = [
        draw(containers(f"init{i}", restartable=draw(st.booleans()), devices=devices))
        for i in range(draw(st.integers(0, 2)))
    ]
    apps = [draw(containers(f"app{i}", devices=devices)) for i in range(draw(st.integers(1, 2)))]
    return pod(uid, *apps, init=init)


class Step(msgspec.Struct, frozen=True):
    pod: Pod
    leaves: int
    """Which of the pods that are there then goes before this one comes: a number to divide; 0: none."""


@st.composite
def histories(draw: st.DrawFn, most: int = 5, devices: Sequence[str | None] = SELDOM) -> tuple[Step, ...]:
    count = draw(st.integers(1, most))
    return tuple(Step(draw(pods(f"uid-{i}", devices)), draw(st.integers(0, 3))) for i in range(count))
