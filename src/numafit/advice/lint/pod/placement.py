"""A pod against its node: what no NUMA node can hold, what init containers decide, and what an idle node would say."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from numafit.advice.alignment import is_aligned
from numafit.advice.lint.findings import Finding, finding
from numafit.advice.lint.pod.text import ContainerText, PodText
from numafit.decision.decision import Decision
from numafit.decision.stage import Stage
from numafit.machine.model import Machine
from numafit.managers.ask import MEMORY, Ask, ask_of
from numafit.quantity import Quantity
from numafit.settings.gates import default_gates
from numafit.settings.settings import Settings
from numafit.settings.versions import KubeVersion


class Surroundings(NamedTuple):
    """What is known about the node that pods are meant for."""

    version: KubeVersion
    machine: Machine | None = None
    settings: Settings | None = None
    """None when no kubelet was given, or when it would not start."""
    stage: Stage | None = None

    def asked(self, text: PodText) -> Ask:
        settings = self.settings or Settings(version=self.version, gates=default_gates(self.version))
        return ask_of(text.pod, settings)

    @property
    def static(self) -> bool | None:
        return None if self.settings is None else self.settings.cpu_policy == "static"

    @property
    def pod_scope(self) -> bool:
        return self.settings is not None and self.settings.topology_scope == "pod"


def node_findings(text: PodText, around: Surroundings) -> Iterator[Finding]:
    if around.machine is not None:
        yield from _too_wide(text, around, around.machine)
    if around.stage is not None:
        yield from _decided(text, around.stage)


def _too_wide(text: PodText, around: Surroundings, machine: Machine) -> Iterator[Finding]:
    ask = around.asked(text)
    if around.pod_scope:
        yield from _unit(text, text.containers[-1], "the pod", ask.pod_devices, around, machine)
        yield from _amounts(text, text.containers[-1], "the pod", ask.pod_cpus, ask.pod_memory, around, machine)
        return
    for container in text.containers:
        name = f'container "{container.name}"'
        yield from _unit(text, container, name, ask.devices[container.name], around, machine)
        own_memory = ask.memory[container.name] if ask.guaranteed else {}
        yield from _amounts(text, container, name, ask.cpus[container.name], own_memory, around, machine)


def _unit(
    text: PodText,
    container: ContainerText,
    who: str,
    devices: Mapping[str, int],
    around: Surroundings,
    machine: Machine,
) -> Iterator[Finding]:
    for resource, count in devices.items():
        own = [device for device in machine.devices if device.resource == resource and device.healthy]
        rooms = {node.id: sum(node.id in (device.numa or ()) for device in own) for node in machine.numa_nodes}
        if not own or any(not device.numa for device in own) or count <= max(rooms.values()):
            continue
        shown = _rooms_in_words({node: str(room) for node, room in rooms.items() if room})
        message = f"{who} asks for {count} {resource}, but no NUMA node has more than {max(rooms.values())} ({shown})"
        cure = f"ask for {max(rooms.values())} or fewer"
        if count > len(own):
            message = f"{who} asks for {count} {resource}, the whole machine has {len(own)}"
            cure = f"ask for {len(own)} or fewer"
        yield finding("NF330", text.amount_place(container, resource), message + _fate(around), cure)


def _amounts(
    text: PodText,
    container: ContainerText,
    who: str,
    cpus: int,
    memory: Mapping[str, int] | None,
    around: Surroundings,
    machine: Machine,
) -> Iterator[Finding]:
    reserved = around.stage.node.cpu.reserved if around.stage is not None else 0
    rooms = {
        node.id: sum(cpu.numa == node.id and cpu.online and not reserved >> cpu.id & 1 for cpu in machine.cpus)
        for node in machine.numa_nodes
    }
    most = max(rooms.values(), default=0)
    if cpus > most and around.static is not False:
        shown = _rooms_in_words({node: str(room) for node, room in rooms.items()})
        message = f"{who} asks for {cpus} exclusive CPUs, but no NUMA node has more than {most} to give ({shown})"
        yield finding("NF331", text.amount_place(container, "cpu"), message + _fate(around), f"ask for {most} or fewer")
    asked = (memory or {}).get(MEMORY, 0)
    sizes = _memory(around, machine)
    if asked and sizes and asked > max(sizes.values()):
        shown = _rooms_in_words({node: _bytes(size) for node, size in sizes.items()})
        most_bytes = _bytes(max(sizes.values()))
        message = (
            f"{who} asks for {_bytes(asked)} of memory, but no NUMA node has more than {most_bytes} to give ({shown})"
        )
        yield finding(
            "NF331", text.amount_place(container, MEMORY), message + _fate(around), f"ask for {most_bytes} or less"
        )


def _memory(around: Surroundings, machine: Machine) -> dict[int, int]:
    """Per NUMA node; nothing when the memory manager is off and memory is not held together."""
    if around.stage is not None:
        idle = around.stage.node.idle_memory
        return {node: own.tables[MEMORY].allocatable for node, own in idle.items() if MEMORY in own.tables}
    return {node.id: node.memory for node in machine.numa_nodes} if around.settings is None else {}


def _fate(around: Surroundings) -> str:
    policy = around.settings.topology_policy if around.settings is not None else ""
    if policy == "single-numa-node":
        return ": single-numa-node always rejects it"
    return ": if it is admitted at all, it crosses NUMA nodes"


def _decided(text: PodText, stage: Stage) -> Iterator[Finding]:
    decision = stage.decide(stage.ledger, text.pod)
    without = replace(text.pod, init_containers=())
    alone = stage.decide(stage.ledger, without) if text.pod.init_containers else decision
    place = text.place((*text.spec_path, "initContainers"), key=True)
    if not decision.admitted and alone.admitted:
        message = f"an idle node would reject the pod because of its init containers: {_verdict(decision)}"
        cure = "let them ask for no more than the containers that come after them"
        yield finding("NF333", place, message, cure)
    elif not decision.admitted:
        place = text.place((*text.spec_path, "containers"), key=True)
        message = f"even an idle node would reject the pod: {_verdict(decision)}"
        yield finding("NF332", place, message, "`numafit explain` says why, `numafit advise` what to change")
    elif not is_aligned(stage.node, decision) and is_aligned(stage.node, alone):
        message = "on an idle node the pod lies on more NUMA nodes than it needs, because of its init containers"
        cure = "let them ask for no more than the containers that come after them"
        yield finding("NF334", place, message, cure)


def _verdict(decision: Decision) -> str:
    return decision.panic or f'{decision.reason}, "{decision.message}"'


def _rooms_in_words(rooms: Mapping[int, str]) -> str:
    return ", ".join(f"node {node}: {room}" for node, room in sorted(rooms.items()))


def _bytes(size: int) -> str:
    """In whole mebibytes, rounded down, where there are any."""
    return str(Quantity(size if size < 1 << 20 else size >> 20 << 20, 0, "BinarySI"))


def init_findings(text: PodText, around: Surroundings) -> Iterator[Finding]:
    ask = around.asked(text)
    settings = around.settings
    apart = settings is not None and settings.topology_policy != "none" and settings.topology_scope == "container"
    pinned = [each for each in text.containers if not each.init and (ask.cpus[each.name] or each.devices)]
    for number, each in enumerate(text.containers):
        if not each.init:
            continue
        cpus = ask.cpus[each.name]
        stay = [own for own in text.containers[number + 1 :] if own.name not in ask.ordinary_init]
        after = sum(ask.cpus[own.name] for own in stay)
        place = text.amount_place(each, "cpu")
        sidecar = each.container.restartable
        if sidecar and each.name in ask.ordinary_init:
            message = (
                f'kubelet 1.{around.version.minor} takes "{each.name}" for an ordinary init container: '
                "what it holds is handed on to the next containers, which wait for its end"
            )
            where = text.place((*each.path, "restartPolicy"))
            yield finding("NF335", where, message, "run it as an ordinary container, or use 1.29 or later")
        elif sidecar and apart and (cpus or each.devices) and pinned:
            message = (
                f'sidecar "{each.name}" is placed for itself in the container scope, and may lie on another NUMA node '
                f'than "{pinned[0].name}"'
            )
            yield finding("NF334", place, message, "set topologyManagerScope: pod, or give it a fraction of a CPU")
        elif not sidecar and around.static is not False and cpus > after:
            who = "the containers and sidecars" if any(own.init for own in stay) else "the containers"
            message = (
                f'init container "{each.name}" asks for {cpus} exclusive CPUs, {who} after it together for {after}: '
                "it decides whether the pod is admitted and on which NUMA nodes it lies"
            )
            cure = f"ask for {after} or fewer" if after else "ask for a fraction of a CPU, such as 500m"
            yield finding("NF334", place, message, cure)
