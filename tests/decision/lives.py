"""Histories of nodes for tests: events played, what was decided in them, and restarts of a node without its sums."""

from collections.abc import Sequence

from msgspec.structs import replace

from numafit.decision.history.event import Beginning, Event
from numafit.decision.history.restart import Restart, restart
from numafit.decision.history.situation import Situation, situation_of
from numafit.decision.node import Node
from numafit.decision.simulation import Simulation, play_events
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Device
from numafit.workload.pod import Pod
from tests.decision.strategies import GPU, container, pod


def restart_with(node: Node, ledger: Ledger, devices: Sequence[Device], *, plugins_first: bool) -> Restart:
    """Nobody knows what the node offers as a whole; every plugin lists those of the devices that are its."""
    plugins = {
        resource: tuple(device for device in devices if device.resource == resource) for resource in node.device.plugins
    }
    begin = replace(situation_of(node, ledger, None), plugins=plugins)
    return restart(begin, Beginning("first" if plugins_first else "late"))


def played(begin: Situation, *events: Event) -> Simulation:
    return play_events(begin, events)


def verdicts(simulation: Simulation) -> list[tuple[str, str, str]]:
    """(at what, pod, verdict) of each decision."""
    return [
        (step.event, step.decision.pod.uid, step.decision.reason or step.decision.panic or "admitted")
        for step in simulation.steps
    ]


def wants(uid: str, count: int = 1, resource: str = GPU) -> Pod:
    return pod(uid, container("app", {resource: str(count)}))
