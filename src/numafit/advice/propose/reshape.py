"""Other forms of the same pod: Guaranteed, with whole CPUs, or cut into several pods."""

from collections.abc import Iterator
from typing import Literal

from msgspec.structs import replace

from numafit.advice.propose.knobs import (
    MI,
    POD_LEVEL,
    WHOLE_CPU,
    as_new,
    is_valid,
    quantity_of_amount,
    with_resources,
)
from numafit.advice.propose.proposal import Proposal, ProposalKind
from numafit.advice.propose.trial import Trial
from numafit.managers.ask import ask_of, is_memory
from numafit.quantity import Quantity
from numafit.workload.manifest import made_up_uid
from numafit.workload.pod import Container, Pod, PodResources, Resources

MOST_PARTS = 8

Rounding = Literal["", "up", "down"]
ROUNDINGS: tuple[Rounding, ...] = ("", "up", "down")


def pinnable(trial: Trial) -> Iterator[Proposal]:
    """Requests equal to limits, and whole CPUs: what the static CPU manager wants to see."""
    qos, level = trial.decision.qos, ask_of(trial.pod, trial.stage.node.settings).pod_level
    seen = [as_new(trial.pod)]
    for by_limit in (False, True):
        for rounding in ROUNDINGS:
            if level == "managed":
                pod = _guaranteed_pod_level(trial.pod, by_limit=by_limit, rounding=rounding)
            else:
                pod = _guaranteed(trial.pod, by_limit=by_limit, rounding=rounding)
            if pod is None or pod in seen:
                continue
            seen.append(pod)
            decision = trial.tried(pod)
            if decision is None or ask_of(pod, trial.stage.node.settings).qos != "Guaranteed":
                continue
            loses = trial.loses(pod)
            if loses is None:
                continue
            kind: ProposalKind = "whole-cpus" if qos == "Guaranteed" else "guaranteed"
            text, share = ", ".join(_changes(trial.pod, pod)), _growth(trial.pod, pod)
            yield Proposal(kind, text, (decision,), loss=share, loses=loses, pods=(pod,))


def of_containers(trial: Trial) -> Iterator[Proposal]:
    """Where the managers pass over pods with resources of their own, the same pod without them.

    Its containers ask for what they ask for themselves; one that is alone and asks for nothing, for all of it.
    """
    pod, own = as_new(trial.pod), trial.pod.resources
    if own is None or not trial.floats or ask_of(pod, trial.stage.node.settings).pod_level != "skipped":
        return
    text = f"without resources of {POD_LEVEL}, which this kubelet's managers do not serve"
    pod = replace(pod, resources=None)
    (first, *others) = pod.containers
    if not others and not pod.init_containers and not first.requests and not first.limits:
        pod = replace(pod, containers=(replace(first, requests=own.requests, limits=own.limits),))
        text = f"{first.name}: asks for what {POD_LEVEL} asks for, which this kubelet's managers do not serve"
    decision = trial.tried(pod)
    loses = None if decision is None else trial.loses(pod)
    if decision is not None and loses is not None and any(each.cpus for each in decision.containers.values()):
        yield Proposal("pod-level", text, (decision,), loses=loses, pods=(pod,))


def split(trial: Trial) -> Iterator[Proposal]:
    """Each container a pod of its own; or one container cut into the fewest equal parts that fit."""
    pod = trial.pod
    if pod.init_containers or pod.resources is not None or len(trial.group) > 1:
        return
    if len(pod.containers) > 1:
        parts = tuple(_named(replace(pod, containers=(each,)), each.name) for each in pod.containers)
        proposal = _split(trial, parts, "one pod per container: " + ", ".join(part.name for part in parts))
        if proposal is not None:
            yield proposal
        return
    for count in range(2, MOST_PARTS + 1):
        part = _part(pod.containers[0], count)
        if part is None:
            continue
        parts = tuple(_named(replace(pod, containers=(part,)), str(number)) for number in range(count))
        sizes = ", ".join(f"{name} {amount}" for name, amount in sorted(part.requests.items()))
        proposal = _split(trial, parts, f"1 pod -> {count} pods with {sizes} each")
        if proposal is not None:
            yield proposal
            return


def fewer_pods(trial: Trial) -> Iterator[Proposal]:
    """An object that makes several pods makes only those before this one, which lie well."""
    before = [i for i in trial.group if i < trial.index]
    decisions = [trial.course.steps[i].decision for i in before]
    good = [decision for decision in decisions if trial.good(decision)]
    if not good or len(good) < len(before):
        return
    text = f"{len(trial.group)} pods -> {len(good)}"
    loss = 1 - len(good) / len(trial.group)
    yield Proposal("replicas", text, (good[-1],), loss=loss, replicas=len(good))


def _split(trial: Trial, parts: tuple[Pod, ...], text: str) -> Proposal | None:
    trial.course.begin_trial()
    if not all(is_valid(part) for part in parts):
        return None
    played = trial.stage.play(parts, trial.before)
    decisions = tuple(step.decision for step in played.steps)
    if len(decisions) < len(parts) or not all(trial.good(decision) for decision in decisions):
        return None
    loses = trial.loses_behind(played.after)
    if loses is None:
        return None
    return Proposal("split", text, decisions, loss=float(len(parts)), loses=loses, pods=parts)


def _named(pod: Pod, suffix: str) -> Pod:
    name = f"{pod.name}-{suffix}"
    return as_new(replace(pod, name=name, uid=made_up_uid(pod.namespace, name)))


def _part(container: Container, count: int) -> Container | None:
    """Memory is rounded up to mebibytes; CPUs and devices must come out even."""
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    for source, target in ((container.requests, requests), (container.limits, limits)):
        for name, quantity in source.items():
            amount = quantity.milli() if name == "cpu" else quantity.value()
            step = WHOLE_CPU if name == "cpu" else MI if is_memory(name) else 1
            if amount % (count * step) and not is_memory(name):
                return None
            target[name] = quantity_of_amount(name, -(-amount // (count * step)) * step)
    return replace(container, requests=requests, limits=limits)


def _guaranteed(pod: Pod, *, by_limit: bool, rounding: Rounding) -> Pod | None:
    """None where a container says nothing about CPU or memory: a number cannot be made up."""
    if pod.resources is not None:
        return None
    for container in pod.all_containers:
        amounts = _equal_amounts(container.requests, container.limits, by_limit=by_limit, rounding=rounding)
        if amounts is None:
            return None
        pod = with_resources(pod, container.name, {**container.requests, **amounts}, {**container.limits, **amounts})
    return pod


def _guaranteed_pod_level(pod: Pod, *, by_limit: bool, rounding: Rounding) -> Pod | None:
    """The pod's own numbers: where they are served, they decide."""
    own = pod.resources
    if own is None:
        return None
    amounts = _equal_amounts(own.requests, own.limits, by_limit=by_limit, rounding=rounding)
    return None if amounts is None else with_resources(pod, "", {**own.requests, **amounts}, {**own.limits, **amounts})


def _equal_amounts(
    requests: Resources, limits: Resources, *, by_limit: bool, rounding: Rounding
) -> dict[str, Quantity] | None:
    amounts = {}
    for name in ("cpu", "memory"):
        request, limit = requests.get(name), limits.get(name)
        chosen = limit if limit is not None and (by_limit or request is None) else request
        if chosen is None or chosen.is_zero:
            return None
        amounts[name] = _rounded(chosen, rounding) if name == "cpu" else chosen
    return amounts


def _rounded(cpus: Quantity, rounding: Rounding) -> Quantity:
    """Less than one CPU stays as it is: such a container belongs in the shared pool."""
    amount = cpus.milli()
    if not rounding or amount < WHOLE_CPU or amount % WHOLE_CPU == 0:
        return cpus
    whole = amount // WHOLE_CPU + (rounding == "up")
    return quantity_of_amount("cpu", whole * WHOLE_CPU)


def _owners(old: Pod, new: Pod) -> list[tuple[str, Container | PodResources, Container | PodResources]]:
    """Name, before and after: the pod itself, where it has resources of its own, then its containers."""
    owners: list[tuple[str, Container | PodResources, Container | PodResources]] = []
    if old.resources is not None and new.resources is not None:
        owners.append((POD_LEVEL, old.resources, new.resources))
    owners += [(was.name, was, becomes) for was, becomes in zip(old.all_containers, new.all_containers, strict=True)]
    return owners


def _changes(old: Pod, new: Pod) -> list[str]:
    texts = []
    for owner, was, becomes in _owners(old, new):
        for part in ("requests", "limits"):
            before, after = getattr(was, part), getattr(becomes, part)
            texts += [
                f"{owner}: {part}.{name} {before.get(name, 'none')} -> {after[name]}"
                for name in sorted(after)
                if before.get(name) != after[name]
            ]
    return texts


def _growth(old: Pod, new: Pod) -> float:
    """How far requests move, and half as much for limits, as a share: the nearest form comes first."""
    shares = [0.0]
    for _, was, becomes in _owners(old, new):
        for name in ("cpu", "memory"):
            if name in becomes.requests:
                shares.append(_moved(was.requests.get(name), becomes.requests[name]))
            if name in becomes.limits:
                shares.append(_moved(was.limits.get(name), becomes.limits[name]) / 2)
    return max(shares)


def _moved(before: Quantity | None, after: Quantity) -> float:
    return 0.0 if before is None or before.is_zero else abs(after.milli() / before.milli() - 1)
