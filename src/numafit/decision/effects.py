"""What an event changes besides the decisions that it causes: who lost his place, who waits, what containers got.

All of it is read off how the node stood before and after the event.
"""

from collections.abc import Iterator, Mapping

import msgspec

from numafit.decision.decision import Decision, Preempted
from numafit.decision.history.event import Event, ExitContainer, RemovePods, ResizePod
from numafit.decision.history.situation import Situation
from numafit.decision.history.step import Step, with_evictions
from numafit.decision.simulation import Happened, Simulation
from numafit.ledger.ledger import DeviceLedger, HeldDevices
from numafit.managers.device.manager import free_devices, is_plugin_resource
from numafit.quantity import Quantity
from numafit.workload.pod import Container, Pod


class LostPlace(msgspec.Struct, frozen=True, tag_field="kind", tag="lost-place"):
    """A pod that ran, and that the kubelet rejects as it starts again."""

    pod: str
    reason: str


class WaitsForKubelet(msgspec.Struct, frozen=True, tag_field="kind", tag="waits"):
    """A pod that came, or was resized, while the kubelet is down."""

    pod: str
    resize: bool = False


class GotDevices(msgspec.Struct, frozen=True, tag_field="kind", tag="got-devices"):
    """Devices that a container is given as it is started, and was not given at its admission: no hint is asked for."""

    pod: str
    container: str
    resource: str
    devices: tuple[str, ...]


class NotStarted(msgspec.Struct, frozen=True, tag_field="kind", tag="not-started"):
    """A container of an admitted pod that the kubelet cannot start, and tries again."""

    pod: str
    container: str
    resources: tuple[str, ...]
    """Of which too few healthy devices are free; empty where it waits for the kubelet, or for a container before it."""
    healthy: tuple[int, ...] = ()
    """Of each of them: how many devices are healthy."""
    free: tuple[int, ...] = ()
    """Of each of them: how many of the healthy ones nobody holds."""
    down: bool = False
    """The kubelet is."""


class StartedAtLast(msgspec.Struct, frozen=True, tag_field="kind", tag="started"):
    """A container that could not be started until now."""

    pod: str
    container: str


class StartedAgain(msgspec.Struct, frozen=True, tag_field="kind", tag="started-again"):
    """A container that ended, and runs again with what it held."""

    pod: str
    container: str
    devices: tuple[str, ...]


class OtherMemory(msgspec.Struct, frozen=True, tag_field="kind", tag="other-memory"):
    """Init containers that have ended are charged again as the kubelet starts, and free again as a container starts."""

    pod: str
    more: int
    """Bytes that they hold now and did not before; below zero where they gave some back."""


Effect = LostPlace | WaitsForKubelet | GotDevices | NotStarted | StartedAtLast | StartedAgain | OtherMemory


class EventTold(msgspec.Struct, frozen=True):
    """An event of a run with all that came of it, or with what came of it for one pod."""

    number: int
    """From 1."""
    happened: Happened
    before: Situation
    steps: tuple[Step, ...]
    """With a step for each pod that was evicted."""
    effects: tuple[Effect, ...]
    pods: Mapping[str, Pod] = {}
    """UID -> pod, of all that the run knows."""

    def is_there(self, uid: str) -> bool:
        """At this event: active, refused, or waiting for the kubelet."""
        before, after = self.before, self.happened.after
        if uid in before.ledger.active or uid in after.ledger.active:
            return True
        others = (*before.waiting, *before.refused, *after.waiting, *after.refused)
        return any(pod.uid == uid for pod in others) or any(step.decision.pod.uid == uid for step in self.steps)

    def name(self, uid: str) -> str:
        """Of whoever holds something then."""
        if uid not in self.pods:
            return uid
        name = self.pods[uid].known_name
        return name if self.is_there(uid) else f"{name} (gone)"

    def gone(self, decision: Decision) -> dict[str, frozenset[str]]:
        """The pods that are gone, and whose state still counted when this one was rejected, with what they held."""
        if decision.admitted:
            return {}
        ledger = decision.merges[-1].ledger if decision.merges else decision.ledger
        found: dict[str, set[str]] = {uid: {"cpu"} for uid in ledger.cpu.entries}
        for uid, own in ledger.memory.entries.items():
            found.setdefault(uid, set()).update(block.type for blocks in own.values() for block in blocks)
        for uid, held in ledger.device.held.items():
            found.setdefault(uid, set()).update(resource for resources in held.values() for resource in resources)
        uids = [uid for uid in found if uid in self.pods and not self.is_there(uid)]
        return {self.pods[uid].known_name: frozenset(found[uid]) for uid in uids}


def told_events(simulation: Simulation, pod: str = "") -> list[EventTold]:
    """In order. Of one pod (namespace/name) those that it has a part in, also as the one for whom others go."""
    before = simulation.begin
    pods = simulation.pods
    found = []
    for number, happened in enumerate(simulation.happened, 1):
        steps = tuple(step for step in with_evictions(happened.steps) if not pod or _is_about(step, pod))
        effects = tuple(effect for effect in _effects(before, happened) if pod in ("", effect.pod))
        if steps or effects or not pod or pod in _named(happened.event):
            found.append(EventTold(number, happened, before, steps, effects, pods))
        before = happened.after
    return found


def _is_about(step: Step, pod: str) -> bool:
    cause = step.decision.cause
    return pod == step.decision.pod.full_name or (isinstance(cause, Preempted) and pod == cause.by)


def _named(event: Event) -> tuple[str, ...]:
    match event:
        case RemovePods(pods):
            return tuple(pod.full_name for pod in pods)
        case ExitContainer(pod) | ResizePod(pod):
            return (pod.full_name,)
    return ()


def _effects(before: Situation, happened: Happened) -> Iterator[Effect]:
    after = happened.after
    decided = {step.decision.pod.uid: step.decision for step in happened.steps}
    for step in happened.steps:
        decision = step.decision
        ran = step.event == "restart" and decision.pod.uid in before.ledger.active
        if ran and not decision.admitted and not decision.panic:
            yield LostPlace(decision.pod.full_name, decision.reason)
    waited = {pod.uid for pod in before.waiting} | decided.keys()
    for pod in after.waiting:
        if pod.uid not in waited:
            yield WaitsForKubelet(pod.full_name)
    for uid, pod in after.resizes.items():
        if after.down and isinstance(happened.event, ResizePod) and before.resizes.get(uid) != pod:
            yield WaitsForKubelet(pod.full_name, resize=True)
    for uid, pod in after.ledger.active.items():
        known = decided[uid].ledger if uid in decided else before.ledger
        yield from _devices(pod, known.device.held, after.ledger.device.held)
        yield from _containers(pod, before, after)
        yield from _exited(pod, before, happened)
        if uid in before.ledger.active and pod.init_containers:
            more = _init_memory(after, pod) - _init_memory(before, pod)
            if more:
                yield OtherMemory(pod.full_name, more)


def _devices(pod: Pod, before: HeldDevices, after: HeldDevices) -> Iterator[GotDevices]:
    for container, resources in after.get(pod.uid, {}).items():
        for resource, held in resources.items():
            had = before.get(pod.uid, {}).get(container, {}).get(resource)
            new = held.ids if had is None else held.ids - had.ids
            if new:
                yield GotDevices(pod.full_name, container, resource, tuple(sorted(new)))


def _containers(pod: Pod, before: Situation, after: Situation) -> Iterator[NotStarted | StartedAtLast]:
    waited, waits = dict(before.unstarted).get(pod.uid, ()), dict(after.unstarted).get(pod.uid, ())
    for container in pod.all_containers:
        if container.name in waits and container.name not in waited:
            yield (
                NotStarted(pod.full_name, container.name, (), down=True)
                if after.down
                else _lacking(pod, container, after.ledger.device)
            )
        elif container.name in waited and container.name not in waits:
            yield StartedAtLast(pod.full_name, container.name)


def _lacking(pod: Pod, container: Container, device: DeviceLedger) -> NotStarted:
    held = device.held.get(pod.uid, {}).get(container.name, {})
    lacks = {
        resource: len(free_devices(device, resource))
        for resource, amount in container.limits.items()
        if "/" in resource and resource not in held and amount.value() and is_plugin_resource(device, resource)
    }
    # What there is enough of was not asked for yet.
    short = {resource: free for resource, free in lacks.items() if free < container.limits[resource].value()} or lacks
    healthy = tuple(len(device.healthy.get(resource, ())) for resource in short)
    return NotStarted(pod.full_name, container.name, tuple(short), healthy, tuple(short.values()))


def _exited(pod: Pod, before: Situation, happened: Happened) -> Iterator[StartedAgain]:
    event, after = happened.event, happened.after
    if not isinstance(event, ExitContainer) or happened.void or event.pod.full_name != pod.full_name or after.down:
        return
    held, had = (each.ledger.device.held.get(pod.uid, {}).get(event.container, {}) for each in (after, before))
    if event.container not in dict(after.unstarted).get(pod.uid, ()) and held == had:
        devices = tuple(sorted(name for own in held.values() for name in own.ids))
        yield StartedAgain(pod.full_name, event.container, devices)


def _init_memory(situation: Situation, pod: Pod) -> int:
    held = situation.ledger.memory.entries.get(pod.uid, {})
    ended = (own.name for own in pod.init_containers if not own.restartable)
    return sum(block.size for name in ended for block in held.get(name, ()))


def effect_in_words(effect: Effect) -> str:
    """Without the pod, which stands before it."""
    match effect:
        case LostPlace(_, reason):
            return f"ran, and loses its place ({reason})"
        case WaitsForKubelet(resize=True):
            return "its resize waits: the kubelet is down"
        case WaitsForKubelet():
            return "waits: the kubelet is down"
        case GotDevices(_, container, resource, devices):
            return f"container {container} is given {', '.join(devices)} ({resource}) as it starts, without any hint"
        case NotStarted(_, container, down=True):
            return f"container {container} waits to be started: the kubelet is down"
        case NotStarted(_, container, resources, healthy, free):
            lacks = [_lack(*own) for own in zip(resources, healthy, free, strict=True)]
            return f"container {container} cannot be started: {' and '.join(lacks) or 'the one before it does not run'}"
        case StartedAgain(_, container, devices):
            again = f"container {container} starts again"
            return f"{again} with {', '.join(devices)}" if devices else again
        case StartedAtLast(_, container):
            return f"container {container} starts at last"
        case OtherMemory(_, more):
            amount = Quantity(abs(more), 0, "BinarySI")
            if more < 0:
                return f"gives back {amount} of memory that its init containers held"
            return f"holds {amount} of memory more: that of its init containers is charged again"


def _lack(resource: str, healthy: int, free: int) -> str:
    if not healthy:
        return f"no {resource} is healthy"
    return f"only {free} {resource} {'is' if free == 1 else 'are'} free" if free else f"no {resource} is free"
