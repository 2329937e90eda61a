"""What happens on a node besides admissions: containers start, pods go, plugins change, the kubelet restarts."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.decision import Decision
from numafit.decision.node import Node, register
from numafit.decision.start import again, start
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Device
from numafit.managers.protocol import Choices


def start_containers(node: Node, ledger: Ledger, uid: str) -> Ledger:
    """The containers of an admitted pod start, init containers first; finished ones give their memory back."""
    if node.memory is None:
        return ledger
    for container in ledger.active[uid].all_containers:
        ledger = node.memory.started(ledger, uid, container.name)
    return ledger


def release(ledger: Ledger, uid: str) -> Ledger:
    """The pod is gone. What it holds stays in the managers' state until one of them removes stale state."""
    active = {other: pod for other, pod in ledger.active.items() if other != uid}
    affinity = {other: hints for other, hints in ledger.affinity.items() if other != uid}
    return replace(ledger, active=active, affinity=affinity)


def reconcile(node: Node, ledger: Ledger) -> Ledger:
    """One tick of the CPU manager's loop. The policy none has no loop."""
    return node.cpu.without_stale(ledger) if node.cpu.static else ledger


def list_devices(node: Node, ledger: Ledger, resource: str, devices: Sequence[Device]) -> Ledger:
    """A plugin sends a new list of its devices."""
    return replace(ledger, device=node.device.listed(ledger.device, resource, tuple(devices)))


class Restart(msgspec.Struct, frozen=True):
    readmitted: tuple[Decision, ...]
    ledger: Ledger
    device_file_error: str = ""


def restart(
    node: Node,
    ledger: Ledger,
    devices: Sequence[Device],
    *,
    plugins_first: bool,
    choices: Sequence[Choices] = (),
) -> Restart:
    """The kubelet restarts over its state files and admits every active pod again, oldest first.

    Meanwhile its pod sources are not ready: nothing stale is removed. What it kept in memory only is lost. Containers
    run on, none starts: finished init containers get memory again and keep it. `choices` are those for the start and
    then for each pod in turn.
    """
    active = ledger.active
    pods = tuple(active.values())
    running = frozenset((pod.uid, container.name) for pod in pods for container in pod.all_containers)
    # Only a restart reads and writes state files; a command starts quicker without them.
    from numafit.decision.files import state_files

    files = state_files(node, ledger)
    first = choices[0] if choices else Choices()
    known = start(again(node, files, active=active, choices=first), "restored")
    ledger = replace(known.restored, ready=False, running=running)
    if plugins_first:
        ledger = register(node, ledger, devices)
    decisions = []
    for i, pod in enumerate(pods):
        decision = admit(node, ledger, pod, choices[i + 1] if i + 1 < len(choices) else None)
        decisions.append(decision)
        ledger = decision.ledger
        if decision.panic:
            break
    if not plugins_first:
        ledger = register(node, ledger, devices)
    ledger = replace(ledger, ready=True, running=frozenset())
    return Restart(tuple(decisions), ledger, known.device_state[1])
