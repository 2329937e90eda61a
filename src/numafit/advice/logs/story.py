"""An admission of a log, told: why it ended as it did, what each manager offered, what the merge made of it."""

from collections.abc import Mapping

import msgspec

from numafit.advice.logs.admission import Admission, LoggedMerge
from numafit.advice.logs.kubelet import LoggedKubelet
from numafit.advice.logs.merges import check_merge
from numafit.bits import cpuset_text
from numafit.decision.decision import OUT_OF
from numafit.decision.story import (
    Chapter,
    admission_in_words,
    container_in_words,
    hints_in_words,
    no_common_node,
    nodes_in_words,
    refusal_in_words,
)
from numafit.ledger.ledger import Hint
from numafit.machine.model import Machine
from numafit.managers.protocol import TOPOLOGY_AFFINITY

MANAGERS = ("devices", "cpu", "memory")


class LogStory(msgspec.Struct, frozen=True):
    sentence: str
    chapters: tuple[Chapter, ...]
    doubts: tuple[str, ...] = ()
    """What in this log does not fit together."""


def story_of_admission(admission: Admission, kubelet: LoggedKubelet, machine: Machine | None = None) -> LogStory:
    """`kubelet` is what the whole log tells of the process; more than was known when the pod came."""
    chapters = tuple(_chapter(merge, kubelet) for merge in admission.merges if merge.providers or merge.best)
    doubts = [doubt for merge in admission.merges if (doubt := _doubt(merge, kubelet, machine))]
    return LogStory(_sentence(admission, kubelet, machine), chapters, tuple(doubts))


def _doubt(merge: LoggedMerge, kubelet: LoggedKubelet, machine: Machine | None) -> str:
    whose = f"of {container_in_words(merge.container)}"
    there, all_of_them = len(merge.providers), kubelet.providers
    if 0 < there < all_of_them:
        return (
            f"Hint lines {whose} are missing from this log ({there} of {all_of_them} are there): it may be otherwise."
        )
    check = check_merge(merge, kubelet, machine)
    if check.agrees is not False or check.computed is None or merge.best is None:
        return ""
    return (
        f"The merge {whose} is not what numafit computes from these hints: the log has "
        f"{_hint_in_words(merge.best)}, numafit gets {_hint_in_words(check.computed)}. "
        "Hint lines may be missing, or the machine or an option differs from what the log shows."
    )


def _sentence(admission: Admission, kubelet: LoggedKubelet, machine: Machine | None) -> str:
    if admission.admitted is None:
        return "The log does not tell how this ended."
    merges = admission.merges
    if admission.admitted:
        return _admitted(admission) + _beyond(admission, node_cpus(kubelet, machine))
    if admission.reason != TOPOLOGY_AFFINITY:
        short = admission.reason.startswith(OUT_OF)
        return refusal_in_words(admission.reason, admission.message, merged=bool(merges), short=short)
    last = merges[-1] if merges else None
    if last is not None and any(hints is not None for own in last.providers for hints in (own or {}).values()):
        return no_common_node(kubelet.policy, container_in_words(last.container), last.providers, {})
    return "The topology manager rejects the pod; the log holds no hints of it, so it cannot be told why."


def _admitted(admission: Admission) -> str:
    nodes, cpus = 0, 0
    for merge in admission.merges:
        nodes |= (merge.best[0] or 0) if merge.best else 0
    for own in admission.cpus.values():
        cpus |= own
    devices = {device for own in admission.devices.values() for ids in own.values() for device in ids}
    preferred = all(merge.best is None or merge.best[1] for merge in admission.merges)
    return admission_in_words(nodes, cpus, devices, preferred=preferred)


def _beyond(admission: Admission, where: Mapping[int, int]) -> str:
    """A merged hint does not hold CPUs back: what its nodes cannot give is taken elsewhere (1.20 to 1.36)."""
    for merge in admission.merges:
        mask = merge.best[0] if merge.best else None
        cpus = 0
        for name, own in admission.cpus.items():
            cpus |= own if merge.container in ("", name) else 0
        if mask is None or not cpus:
            continue
        outside = {node: cpus & own for node, own in where.items() if not mask >> node & 1 and cpus & own}
        if outside:
            words = [f"{cpuset_text(own)} on node {node}" for node, own in outside.items()]
            return f" Not all CPUs lie there: {', '.join(words)}."
        hints = [own["cpu"] for own in merge.providers if own and "cpu" in own]
        masks = [nodes for nodes, _ in hints[0] if nodes is not None] if hints and isinstance(hints[0], tuple) else []
        if not where and masks and all(nodes & ~mask for nodes in masks):
            least = min(masks, key=lambda nodes: (nodes.bit_count(), nodes))
            return f" Not all CPUs lie there: they need {nodes_in_words(least)}."
    return ""


def node_cpus(kubelet: LoggedKubelet, machine: Machine | None) -> Mapping[int, int]:
    """NUMA node -> its CPUs, from the machine or else from the log; empty where neither is known."""
    if machine is None:
        return kubelet.cpus
    cpus = {node.id: 0 for node in sorted(machine.numa_nodes, key=lambda node: node.id)}
    for cpu in machine.cpus:
        cpus[cpu.numa] = cpus.get(cpu.numa, 0) | 1 << cpu.id
    return cpus


def _chapter(merge: LoggedMerge, kubelet: LoggedKubelet) -> Chapter:
    hints: dict[str, str] = {}
    for place, own in enumerate(merge.providers):
        if not own:
            hints[MANAGERS[place] if place < len(MANAGERS) else "other"] = "no preference"
        for resource, listed in (own or {}).items():
            hints[resource] = hints_in_words(listed)
    if not hints:
        hints["hints"] = "not in this log"
    if merge.best is None:
        return Chapter(merge.container, (), hints, (None, False), "what they merged to is not in this log")
    policy = kubelet.policy or "the policy"
    verdict = {True: f": {policy} accepts", False: f": {policy} rejects", None: ""}[merge.admit]
    return Chapter(merge.container, (), hints, merge.best, f"merged to {_hint_in_words(merge.best)}{verdict}")


def _hint_in_words(hint: Hint) -> str:
    mask, preferred = hint
    if mask is None:
        return "any NUMA node" if preferred else "no NUMA node"
    return f"{nodes_in_words(mask)}, {'preferred' if preferred else 'not preferred'}"
