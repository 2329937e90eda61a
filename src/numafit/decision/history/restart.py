"""The kubelet starts again over its state files, and admits every pod that is there once more.

Until its pod sources are ready nothing stale is removed, so what deleted pods held still counts for those who came
while it was down. What it kept in memory only is lost. Containers run on and are not started, so finished init
containers get memory again and keep it; after a reboot no container is left, and all are started.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec
from msgspec.structs import replace

from numafit.decision.decide import Load, decide, load_after, load_of
from numafit.decision.decision import Decision
from numafit.decision.history.event import Beginning
from numafit.decision.history.situation import Situation
from numafit.decision.life import start_containers
from numafit.decision.node import Node
from numafit.decision.resize.queue import pods_at_restart
from numafit.decision.start import Start, again, start
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Device
from numafit.managers.protocol import Choices
from numafit.workload.pod import Pod

ContainerKey = tuple[str, str]
"""(pod UID, container)."""


class Restart(msgspec.Struct, frozen=True):
    situation: Situation
    decisions: tuple[tuple[Decision, Choices], ...]
    """In order, each with the choices that were made in it; the last one may be a crash."""
    order: Choices
    """In which the order of static pods was chosen."""

    @property
    def readmitted(self) -> tuple[Decision, ...]:
        return tuple(decision for decision, _ in self.decisions)


class Batch(msgspec.Struct, frozen=True):
    """The kubelet runs again, and has decided on nobody yet."""

    situation: Situation
    static: tuple[Pod, ...]
    """They come first, in any order, and with those that were rejected before; here in the order in which they came."""
    others: tuple[Pod, ...]
    """By their creation."""
    begun: frozenset[ContainerKey]
    """Containers that need not be started: they run, or are init containers that have ended."""


def batch_of(situation: Situation, how: Beginning, choices: Choices, *, init_runs: bool = False) -> Batch:
    """Raises StartError where the kubelet does not start."""
    known = start(_beginning(situation, how, choices), "restored")
    node = known.node
    if how.config is not None:
        # What the node object lists beside that outlives the kubelet.
        situation = replace(situation, allocatable={**(situation.allocatable or {}), **known.allocatable})
    asked = pods_at_restart(node.settings, situation.ledger, situation.resizes)
    there = (*asked.values(), *situation.waiting)
    static = tuple(pod for pod in (*there, *situation.refused) if pod.static)
    others = tuple(pod for pod in there if not pod.static)
    begun = frozenset[ContainerKey]() if how.reboot else _begun(situation)
    running = begun if init_runs else begun - _finished(situation)
    # Who has not come yet does not count, and is not evicted for a critical pod.
    ledger = replace(known.restored, ready=False, running=running, active={})
    if how.plugins == "first":
        ledger = registered(node, ledger, situation.plugins)
    return Batch(replace(situation, node=node, ledger=ledger), static, others, begun)


def restart(
    situation: Situation, how: Beginning, choices: Callable[[], Choices] = Choices, *, init_runs: bool = False
) -> Restart:
    """Raises StartError where the kubelet does not start. `choices` are asked for at the start and for each pod.

    `init_runs`: init containers are told to run on, which they do in recordings of the managers alone.
    """
    batch = batch_of(situation, how, choices(), init_runs=init_runs)
    order = choices()
    pods = (*order.pods(batch.static), *batch.others)
    situation, decisions = _admit_all(batch.situation, pods, choices)
    node, ledger = situation.node, situation.ledger
    if how.plugins == "late":
        ledger = registered(node, ledger, situation.plugins)
    ledger = replace(ledger, ready=True, running=frozenset())
    unstarted = []
    crashed = bool(decisions and decisions[-1][0].panic)
    for pod in tuple(ledger.active.values()):
        left = tuple(own.name for own in pod.all_containers if (pod.uid, own.name) not in batch.begun)
        if not crashed:
            ledger, left = start_containers(node, ledger, pod.uid, left)
        if left:
            unstarted.append((pod.uid, left))
    after = replace(situation, ledger=ledger, down=crashed, unstarted=tuple(unstarted))
    return Restart(after, decisions, order)


def registered(node: Node, ledger: Ledger, plugins: Mapping[str, tuple[Device, ...]]) -> Ledger:
    """Every plugin that runs registers and lists its devices, one resource after the other."""
    device = ledger.device
    for resource, devices in plugins.items():
        device = node.device.listed(device, resource, devices)
    return replace(ledger, device=device)


def _beginning(situation: Situation, how: Beginning, choices: Choices) -> Start:
    # Only a restart reads and writes state files; a command starts quicker without them.
    from numafit.decision.files import state_files

    node, active = situation.node, situation.ledger.active
    files = state_files(node, situation.ledger)
    if how.config is None:
        return again(node, files, active=active, choices=choices)
    return Start(
        version=node.settings.version,
        sources=how.config,
        machine=node.machine,
        plugins=node.device.plugins,
        facts=node.facts,
        files=files,
        active=active,
        choices=choices,
    )


def _begun(situation: Situation) -> frozenset[ContainerKey]:
    """The containers that were started before the kubelet went down."""
    idle = {(uid, name) for uid, names in situation.unstarted for name in names}
    there = situation.ledger.active.values()
    return frozenset((pod.uid, own.name) for pod in there for own in pod.all_containers) - idle


def _finished(situation: Situation) -> frozenset[ContainerKey]:
    """Init containers that have ended, if they were ever started: they do not run on."""
    sidecars = situation.node.settings.behaviour.sidecars
    there = situation.ledger.active.values()
    return frozenset(
        (pod.uid, own.name) for pod in there for own in pod.init_containers if not (own.restartable and sidecars)
    )


def _admit_all(
    situation: Situation, pods: Iterable[Pod], choices: Callable[[], Choices]
) -> tuple[Situation, tuple[tuple[Decision, Choices], ...]]:
    node, ledger = situation.node, situation.ledger
    load = Load()
    decisions: list[tuple[Decision, Choices]] = []
    refused = []
    waiting = list(pods)
    while waiting:
        pod = waiting.pop(0)
        own = choices()
        decision = decide(node, ledger, pod, situation.offered, own, others=load)
        decisions.append((decision, own))
        ledger = decision.ledger
        if decision.panic:
            waiting.insert(0, pod)
            break
        load = load_after(node.settings, load, decision)
        if not decision.admitted and pod.static:
            refused.append(pod)
    # Those whose turn did not come before a crash: each is what it was.
    came, tried = ({pod.uid for pod in pods} for pods in (situation.waiting, situation.refused))
    if waiting:
        ran = {pod.uid: pod for pod in waiting if pod.uid not in came | tried}
        ledger = replace(ledger, active={**ledger.active, **ran})
        load = load_of(node.settings, ledger.active.values())
    refused += [pod for pod in waiting if pod.uid in tried]
    wait = tuple([pod for pod in waiting if pod.uid in came])
    return replace(situation, ledger=ledger, load=load, waiting=wait, refused=tuple(refused)), tuple(decisions)
