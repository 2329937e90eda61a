"""The words of a story: masks, hints, and the one sentence that matters."""

from collections.abc import Collection, Mapping, Sequence

from numafit.decision.decision import Decision, MergeStep
from numafit.decision.node import Node
from numafit.machine.bits import cpuset_text
from numafit.managers.ask import Ask, is_memory
from numafit.managers.family import Family
from numafit.managers.hint import HintList, ProviderHints
from numafit.managers.manager import SMT_ALIGNMENT, TOPOLOGY_AFFINITY
from numafit.quantity import Quantity

MOST_LISTED = 6
"""Longer hint lists are cut: the preferred hints come first."""


def nodes_in_words(mask: int) -> str:
    word = "node" if mask.bit_count() == 1 else "nodes"
    return f"{word} {cpuset_text(mask)}"


def amount_in_words(resource: str, amount: int) -> str:
    if resource == "cpu":
        return f"{amount} CPU" if amount == 1 else f"{amount} CPUs"
    if is_memory(resource):
        size = str(Quantity(amount, 0, "BinarySI"))
        return size if resource == "memory" else f"{size} of {resource}"
    return f"{amount} {resource}"


def hints_in_words(hints: HintList) -> str:
    if hints is None:
        return "no preference"
    if isinstance(hints, Family):
        number = hints.count()
        return f"{'many' if number is None else number} masks of {hints.ground.bit_count()} nodes"
    if not hints:
        return "cannot be satisfied"
    ordered = sorted(hints, key=lambda hint: not hint[1])
    words = [
        f"{'any node' if mask is None else nodes_in_words(mask)}{' (preferred)' if preferred else ''}"
        for mask, preferred in ordered[:MOST_LISTED]
    ]
    if len(ordered) > MOST_LISTED:
        words.append(f"{len(ordered) - MOST_LISTED} more")
    return ", ".join(words)


def sentence_of(node: Node, decision: Decision, ask: Ask) -> str:
    """Why, in one sentence that names the resources and the NUMA nodes."""
    if decision.panic:
        return f"The kubelet would crash here: {decision.panic}."
    if decision.admitted:
        return _admitted(decision)
    if decision.reason == TOPOLOGY_AFFINITY and decision.merges:
        step = decision.merges[-1]
        return no_common_node(node.topology.policy, step.container, step.providers, _needs(ask, step))
    return refusal_in_words(decision.reason, decision.message, merged=bool(decision.merges))


def refusal_in_words(reason: str, message: str, *, merged: bool) -> str:
    """A rejection that the merge is not to blame for; `merged` tells that there was a merge and it let the pod pass."""
    if reason == SMT_ALIGNMENT:
        return f"full-pcpus-only gives whole cores only. {message}."
    if reason.startswith("OutOf"):
        return f"The managers found a place, but the node as a whole is short of it: {message}."
    if merged:
        return f"The merge let the pod pass, then a manager could not allocate: {message}."
    return f"A manager could not allocate: {message}."


def _admitted(decision: Decision) -> str:
    nodes = 0
    for placement in decision.containers.values():
        nodes |= placement.affinity[0] or 0
    cpus = 0
    for placement in decision.containers.values():
        cpus |= placement.cpus or 0
    devices = {device for own in decision.containers.values() for ids in own.devices.values() for device in ids}
    return admission_in_words(nodes, cpus, devices, preferred=all(step.best[1] for step in decision.merges or ()))


def admission_in_words(nodes: int, cpus: int, devices: Collection[str], *, preferred: bool) -> str:
    parts = [f"CPUs {cpuset_text(cpus)}" if cpus else "the shared CPUs", *sorted(devices)]
    where = f" on {nodes_in_words(nodes)}" if nodes else ""
    crossing = "" if preferred else ", although not as near as an empty machine would allow"
    return f"Admitted{where} with {', '.join(parts)}{crossing}."


def no_common_node(policy: str, container: str, providers: Sequence[ProviderHints], needs: Mapping[str, int]) -> str:
    """Why a merge was rejected. `container` is empty in the pod scope, `policy` where it is not known; resources that
    `needs` does not name are told without their amount."""
    who = f"container {container}" if container else "the pod"
    narrow = policy == "single-numa-node"
    clauses, blocked = [], []
    for own in providers:
        for resource, hints in (own or {}).items():
            if hints is None:
                continue
            amount = amount_in_words(resource, needs[resource]) if resource in needs else _unknown_amount(resource)
            clause, preferred = _offer(amount, hints, narrow)
            clauses.append(clause)
            if not preferred:
                blocked.append(clause)
    verdict = f"`{policy}` rejects {who}" if policy else f"the topology manager rejects {who}"
    if blocked:
        return _upper(f"{'; '.join(blocked)}: {verdict}.")
    return _upper(f"{', '.join(clauses)}: no common place, so {verdict}.")


def _unknown_amount(resource: str) -> str:
    if resource == "cpu":
        return "the CPUs"
    return f"the {resource} pages" if is_memory(resource) else f"the {resource} devices"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _needs(ask: Ask, step: MergeStep) -> Mapping[str, int]:
    if step.container:
        memory = ask.memory[step.container] or {}
        return {"cpu": ask.cpus[step.container], **memory, **ask.devices[step.container]}
    return {"cpu": ask.pod_cpus, **(ask.pod_memory or {}), **ask.pod_devices}


def _offer(amount: str, hints: HintList, narrow: bool) -> tuple[str, list[int]]:
    """What a resource can do in words, and the masks that the policy would take from it."""
    if isinstance(hints, Family):
        return f"{amount} fit on {hints_in_words(hints)}", [0]
    if not hints:
        return f"{amount} are more than is free", []
    preferred = [mask for mask, good in hints if good and mask is not None and (not narrow or mask.bit_count() == 1)]
    if preferred:
        places = " or ".join(nodes_in_words(mask) for mask in preferred[:MOST_LISTED])
        return f"{amount} fit only on {places}", preferred
    masks = [mask for mask, _ in hints if mask is not None]
    least = min(masks, key=lambda mask: (mask.bit_count(), mask), default=0)
    if any(good for _, good in hints):
        return f"{amount} need {nodes_in_words(least)} together", []
    return f"{amount} would fit fewer nodes, but are free only across {nodes_in_words(least)}", []
