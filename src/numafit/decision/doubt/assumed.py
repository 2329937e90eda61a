"""What of a machine was guessed or is not known, and matters to the start or to the pods that are asked about."""

from collections.abc import Callable, Collection

import msgspec

from numafit.decision.node import Node
from numafit.machine.model import CPU_IDS, DEVICES, Machine
from numafit.machine.notes import machine_notes
from numafit.managers.ask import HUGEPAGES, MEMORY, Ask, ask_of
from numafit.managers.device.plugin import NVIDIA_GPU
from numafit.managers.topology.policy import NONE
from numafit.notes import Note
from numafit.settings.config import KubeletConfig
from numafit.settings.options import PREFER_ALIGN_CPUS_BY_UNCORECACHE
from numafit.workload.pod import Pod, Resources


def assumed_notes(node: Node, pods: Collection[Pod]) -> tuple[Note, ...]:
    """Of the machine, those that can change what this kubelet does with these pods."""
    words = assumed_words(node, pods)
    return machine_notes(node.machine, words) if words else ()


def assumed_words(node: Node, pods: Collection[Pod]) -> tuple[str, ...]:
    """Words of `Machine.assumed`; one that numafit does not know may matter always."""
    if not node.machine.assumed:
        return ()
    question = _Question(node, tuple(ask_of(pod, node.settings) for pod in pods))
    return tuple(word for word in node.machine.assumed if word not in _MATTERS or _MATTERS[word](question))


def start_words(machine: Machine, config: KubeletConfig) -> tuple[str, ...]:
    """Words of `Machine.assumed` that whether this kubelet starts, and with which reserved CPUs, can hang on."""
    return tuple(word for word in machine.assumed if word not in _MATTERS or _at_start(word, machine, config))


def check_notes(
    machine: Machine, config: KubeletConfig, node: Node | None = None, pods: Collection[Pod] = ()
) -> tuple[Note, ...]:
    """Of a check of a configuration, and of pods on its node where that starts."""
    words = (*start_words(machine, config), *(() if node is None else assumed_words(node, pods)))
    return machine_notes(machine, words) if words else ()


def _at_start(word: str, machine: Machine, config: KubeletConfig) -> bool:
    static_cpus = config.cpu_manager_policy == "static"
    static_memory = config.memory_manager_policy == "Static"
    match word:
        case "cpus":
            return static_cpus or bool(config.reserved_system_cpus)
        case "core":
            return static_cpus
        case "socket":
            # Where the reserved CPUs are only counted, the policy picks them.
            return static_cpus and not config.reserved_system_cpus
        case "uncore_cache":
            aligned = PREFER_ALIGN_CPUS_BY_UNCORECACHE in (config.cpu_manager_policy_options or {})
            return static_cpus and aligned and not config.reserved_system_cpus
        case "numa":
            return static_cpus or static_memory or config.topology_manager_policy != NONE
        case "memory":
            reserves = any(MEMORY in own for own in (config.kube_reserved, config.system_reserved))
            return static_memory or (machine.memory is None and reserves)
        case "hugepages":
            return static_memory
        case _:
            return False


class _Question(msgspec.Struct, frozen=True):
    node: Node
    asks: tuple[Ask, ...]

    @property
    def machine(self) -> Machine:
        return self.node.machine

    @property
    def aligns(self) -> bool:
        return self.node.topology.policy != NONE and bool(self.asks)

    @property
    def exclusive(self) -> bool:
        """Somebody gets CPUs of his own."""
        return self.node.cpu.static and any(ask.pod_cpus or any(ask.cpus.values()) for ask in self.asks)

    @property
    def on_nodes(self) -> bool:
        """Somebody gets memory of certain NUMA nodes."""
        memory = self.node.memory
        return (
            memory is not None
            and memory.static
            and any(ask.pod_memory or any(ask.memory.values()) for ask in self.asks)
        )

    def requests(self, starts: str) -> bool:
        return any(name.startswith(starts) for ask in self.asks for name in _requested(ask.pod))


def _requested(pod: Pod) -> list[str]:
    lists: list[Resources] = [each for own in pod.all_containers for each in (own.requests, own.limits)]
    if pod.resources is not None:
        lists += [pod.resources.requests, pod.resources.limits]
    return [name for resources in lists for name in resources]


def _cpus_matter(question: _Question) -> bool:
    return question.requests("cpu")


def _numa_matters(question: _Question) -> bool:
    return question.exclusive or question.aligns


def _caches_matter(question: _Question) -> bool:
    return question.exclusive and question.node.cpu.options.prefer_align_cpus_by_uncorecache


def _distances_matter(question: _Question) -> bool:
    return question.aligns and question.node.topology.distances is not None


def _memory_matters(question: _Question) -> bool:
    """The node as a whole has `MemTotal` where that is told."""
    return question.on_nodes or (question.machine.memory is None and question.requests(MEMORY))


def _devices_matter(question: _Question) -> bool:
    """Where a device sits is looked at only to align it."""
    untold = {device.resource for device in question.machine.devices if device.resource}
    return question.aligns and any(untold & ask.pod_devices.keys() for ask in question.asks)


def _ids_matter(question: _Question) -> bool:
    """A pod that gets devices is shown with their ids."""
    offered = {device.resource for device in question.machine.devices if device.resource}
    return any(offered & ask.pod_devices.keys() for ask in question.asks)


def _links_matter(question: _Question) -> bool:
    """NVIDIA's plugin looks at links to choose two or more GPUs out of more."""
    count = sum(device.resource == NVIDIA_GPU for device in question.machine.devices)
    wanted = [own.get(NVIDIA_GPU, 0) for ask in question.asks for own in ask.devices.values()]
    return any(1 < each < count for each in wanted)


_MATTERS: dict[str, Callable[[_Question], bool]] = {
    "cpus": _cpus_matter,
    CPU_IDS: lambda question: question.exclusive,
    "core": lambda question: question.exclusive,
    "socket": lambda question: question.exclusive,
    "numa": _numa_matters,
    "uncore_cache": _caches_matter,
    "distances": _distances_matter,
    "memory": _memory_matters,
    "hugepages": lambda question: question.requests(HUGEPAGES),
    DEVICES: _ids_matter,
    "device_numa": _devices_matter,
    "links": _links_matter,
}
