"""Does the state of a node that starts make sense? What the kubelet does not look at, or only later."""

from collections.abc import Iterator, Mapping, Sequence, Set

from msgspec.structs import replace

from numafit.advice.finding import DEVICE_GONE, HELD_TWICE, NO_OWNER, REJECTED_AT_START, Finding
from numafit.decision.decision import Decision
from numafit.decision.life import restart
from numafit.decision.node import CPU_FILE, DEVICE_FILE, MEMORY_FILE, Node
from numafit.errors import StartError
from numafit.ledger.ledger import Ledger
from numafit.machine.bits import cpuset_text
from numafit.workload.pod import Pod

SHARED_COST = "Both run on the same CPUs until one of them is deleted."
STALE_CURE = "nothing: the kubelet removes it itself, CPUs at once, memory and devices when the next pod asks for some"


def state_findings(node: Node, ledger: Ledger, owners: Set[str] | None, pods: Sequence[Pod]) -> Iterator[Finding]:
    """`owners` are the UIDs of all pods of the node when they are known, `pods` those pods that can be admitted."""
    yield from _cpus_held_twice(node, ledger)
    yield from _devices(node, ledger)
    if owners is not None:
        yield from _without_owner(ledger, owners)
    yield from _rejected_at_start(node, ledger, [pod for pod in pods if pod.uid in holders(ledger)])


def holders(ledger: Ledger) -> dict[str, set[str]]:
    """Pod UID -> the state files that it stands in."""
    found: dict[str, set[str]] = {}
    for file, uids in (
        (CPU_FILE, ledger.cpu.entries.keys() | ledger.cpu.pod_entries.keys()),
        (MEMORY_FILE, ledger.memory.entries.keys() | ledger.memory.pod_entries.keys()),
        (DEVICE_FILE, ledger.device.held.keys()),
    ):
        for uid in uids:
            found.setdefault(uid, set()).add(file)
    return found


def _cpus_held_twice(node: Node, ledger: Ledger) -> Iterator[Finding]:
    """Containers of one pod may overlap: init containers leave their CPUs to the others."""
    if not node.cpu.static:
        return
    taken: dict[str, int] = {}
    for uid, own in sorted(ledger.cpu.entries.items()):
        cpus = 0
        for held in own.values():
            cpus |= held
        for other, theirs in taken.items():
            if cpus & theirs:
                text = f"CPUs {cpuset_text(cpus & theirs)} are exclusive to pod {other} and to pod {uid}"
                cure = (f"kubectl delete pod POD (the one with UID {uid})", "or numafit doctor --repair")
                yield Finding(HELD_TWICE, "warning", CPU_FILE, text, cure=cure, cost=SHARED_COST)
        taken[uid] = cpus


def _devices(node: Node, ledger: Ledger) -> Iterator[Finding]:
    known: dict[str, set[str]] = {}
    for device in node.machine.devices:
        known.setdefault(device.resource, set()).add(device.id)
    taken: dict[tuple[str, str], str] = {}
    for uid, containers in sorted(ledger.device.held.items()):
        for container, resources in sorted(containers.items()):
            for resource, held in sorted(resources.items()):
                gone = sorted(held.ids - known[resource]) if resource in known else []
                if gone:
                    text = f"pod {uid} container {container} holds {', '.join(gone)} ({resource}), which is not there"
                    cure = ("see whether the device failed or was renamed", "delete the pod, so that it is placed anew")
                    yield Finding(DEVICE_GONE, "warning", DEVICE_FILE, text, cure=cure)
                for device_id in sorted(held.ids):
                    other = taken.setdefault((resource, device_id), uid)
                    if other != uid:
                        text = f"{device_id} ({resource}) belongs to pod {other} and to pod {uid}"
                        yield Finding(HELD_TWICE, "warning", DEVICE_FILE, text, cure=("delete one of the pods",))


def _without_owner(ledger: Ledger, owners: Set[str]) -> Iterator[Finding]:
    for uid, files in sorted(holders(ledger).items()):
        if uid not in owners:
            text = f"no pod has the UID {uid}"
            yield Finding(NO_OWNER, "warning", ", ".join(sorted(files)), text, cure=(STALE_CURE,))


def _rejected_at_start(node: Node, ledger: Ledger, pods: Sequence[Pod]) -> Iterator[Finding]:
    """The kubelet admits pods that run once more when it starts, and may reject them."""
    if not pods:
        return
    resident = replace(ledger, active={pod.uid: pod for pod in pods})
    outcomes: list[Mapping[str, Decision]] = []
    for plugins_first in (True, False):
        try:
            decisions = restart(node, resident, node.machine.devices, plugins_first=plugins_first).readmitted
        except StartError:
            return
        outcomes.append({decision.pod.uid: decision for decision in decisions if not decision.admitted})
    for pod in pods:
        early, late = (outcome.get(pod.uid) for outcome in outcomes)
        decision = early or late
        if decision is None:
            continue
        name = f"{pod.namespace}/{pod.name}"
        how = "would be rejected when the kubelet starts" if early else "may be rejected when the kubelet starts"
        when = "" if early else ", as long as its device plugin is not back"
        says = decision.panic or f"{decision.reason}: {decision.message}"
        yield Finding(
            REJECTED_AT_START,
            "warning",
            name,
            f"{name} runs, and {how}{when}",
            details=(says,),
            why="The kubelet admits every pod anew at its start, and its rules do not always fit what it gave before.",
            cure=("drain the node before the kubelet is restarted",),
            cost="The pod fails; its controller makes another one.",
        )
