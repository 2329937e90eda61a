"""A node ready to be asked "what if": started, with whoever is on it already, and with a configuration to change."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.decide import decide
from numafit.decision.decision import Decision
from numafit.decision.files import state_files
from numafit.decision.node import Node, new_node, register, start
from numafit.decision.simulation import Simulation, play
from numafit.errors import KubeletError, StartError
from numafit.golang.text import aggregate_text
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Machine
from numafit.managers.device.plugin import Plugin
from numafit.quantity import Quantity
from numafit.settings.allocatable import allocatable_of, check_capacity, settings_of
from numafit.settings.config import KubeletConfig
from numafit.settings.validation import validate
from numafit.settings.versions import KubeVersion
from numafit.workload.pod import Pod


class Stage(msgspec.Struct, frozen=True):
    node: Node
    ledger: Ledger
    allocatable: Mapping[str, Quantity]
    config: KubeletConfig

    def decide(self, ledger: Ledger, pod: Pod) -> Decision:
        return decide(self.node, ledger, pod, self.allocatable)

    def play(self, pods: Sequence[Pod], ledger: Ledger | None = None) -> Simulation:
        return play(self.node, self.ledger if ledger is None else ledger, pods, self.allocatable)


def new_stage(
    machine: Machine,
    config: KubeletConfig,
    version: KubeVersion,
    files: Mapping[str, str] | None = None,
    plugins: Mapping[str, Plugin] | None = None,
) -> Stage:
    """Raises a KubeletError, in the kubelet's words, where it would not start."""
    errors = validate(config, version)
    if errors:
        raise KubeletError(aggregate_text([str(error) for error in errors]), joins=errors)
    settings = settings_of(config, machine, version)
    node = new_node(machine, settings, plugins)
    ledger = start(node, files).ledger
    check_capacity(settings.reservation, machine, version)
    return Stage(node, register(node, ledger, machine.devices), allocatable_of(config, machine, version), config)


def restarted(stage: Stage, config: KubeletConfig, version: KubeVersion | None = None) -> Stage:
    """The kubelet starts again, with another configuration or release, over the state of the pods that were there.

    It admits those again, oldest first, before its pod sources are ready. Raises a KubeletError if it does not start
    or if one of them is rejected.
    """
    node = stage.node
    residents = stage.ledger.active
    files = state_files(node, stage.ledger) if residents else None
    fresh = new_stage(node.machine, config, version or node.settings.version, files, node.device.plugins)
    if not residents:
        return fresh
    running = frozenset((pod.uid, container.name) for pod in residents.values() for container in pod.all_containers)
    ledger = replace(fresh.ledger, active=residents, ready=False, running=running)
    for pod in residents.values():
        decision = admit(fresh.node, ledger, pod)
        if not decision.admitted:
            raise KubeletError(f"{pod.full_name} would be rejected: {decision.reason or decision.panic}")
        ledger = decision.ledger
    return replace(fresh, ledger=replace(ledger, ready=True, running=frozenset()))


def start_problem(error: KubeletError) -> str:
    return error.message if isinstance(error, StartError) else str(error)
