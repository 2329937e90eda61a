"""What happens on a node besides admissions: containers start, pods go, plugins change."""

from collections.abc import Sequence

from msgspec.structs import replace

from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Device
from numafit.managers.ask import ask_of
from numafit.managers.device.manager import is_plugin_resource, without_stale
from numafit.managers.device.plugin import PluginError
from numafit.managers.protocol import Call, Choices
from numafit.workload.pod import Container


def start_containers(
    node: Node, ledger: Ledger, uid: str, names: Sequence[str] | None = None
) -> tuple[Ledger, tuple[str, ...]]:
    """Containers of an admitted pod start, all of them or those of these names, init containers first.

    Finished init containers give their memory back. A device that a container was not given at its admission is
    allocated now, without any hint; where that fails the container does not start, nor do those that wait for it: their
    names come back. So it is where a plugin fails to prepare the devices.
    """
    pod = ledger.active[uid]
    left: list[str] = []
    for container in pod.all_containers:
        if names is not None and container.name not in names:
            continue
        if left and any(init.name in left for init in pod.init_containers):
            left.append(container.name)
            continue
        if not _prepared(node, ledger, uid, container):
            left.append(container.name)
            continue
        if _lacks_device(ledger, uid, container):
            call = Call(ledger, ask_of(pod, node.settings), Choices())
            refusal = node.device.allocate(call, container)
            ledger = call.ledger
            if refusal is not None:
                left.append(container.name)
                continue
        if node.memory is not None:
            ledger = node.memory.started(ledger, uid, container.name)
    return ledger, tuple(left)


def _prepared(node: Node, ledger: Ledger, uid: str, container: Container) -> bool:
    for resource, held in ledger.device.held.get(uid, {}).get(container.name, {}).items():
        if resource in node.device.plugins:
            try:
                node.device.plugins[resource].pre_start(held.ids)
            except PluginError:
                return False
    return True


def _lacks_device(ledger: Ledger, uid: str, container: Container) -> bool:
    held = ledger.device.held.get(uid, {}).get(container.name, {})
    return any(
        "/" in resource and resource not in held and amount.value() and is_plugin_resource(ledger.device, resource)
        for resource, amount in container.limits.items()
    )


def release(ledger: Ledger, uid: str) -> Ledger:
    """The pod is gone. What it holds stays in the managers' state until one of them removes stale state."""
    active = {other: pod for other, pod in ledger.active.items() if other != uid}
    affinity = {other: hints for other, hints in ledger.affinity.items() if other != uid}
    return replace(ledger, active=active, affinity=affinity)


def reconcile(node: Node, ledger: Ledger) -> Ledger:
    """One tick of the CPU manager's loop. The policy none has no loop."""
    return node.cpu.without_stale(ledger) if node.cpu.static else ledger


def freed(node: Node, ledger: Ledger, uid: str) -> Ledger:
    """The pod is gone, and each manager has removed what is stale: as the next pod that asks for all of it finds it."""
    ledger = without_stale(reconcile(node, release(ledger, uid)))
    return ledger if node.memory is None else node.memory.without_stale(ledger, Choices())


def list_devices(node: Node, ledger: Ledger, resource: str, devices: Sequence[Device]) -> Ledger:
    """A plugin sends a new list of its devices."""
    return replace(ledger, device=node.device.listed(ledger.device, resource, tuple(devices)))
