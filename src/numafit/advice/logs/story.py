"""An admission of a log, told: why it ended as it did, what each manager offered, what the merge made of it."""

import re
from collections.abc import Collection, Mapping

import msgspec

from numafit.advice.logs.admission import Admission, LoggedMerge
from numafit.advice.logs.kubelet import LoggedKubelet
from numafit.advice.logs.merges import behaviours, check_merge
from numafit.bits import cpuset_text
from numafit.decision.decision import OUT_OF, ManagerRefused
from numafit.decision.story.cause import merge_cause
from numafit.decision.story.claims import MergeCause, MergeRefused, Untold, places_of
from numafit.decision.story.refused_words import refused_in_words
from numafit.decision.story.story import Chapter
from numafit.decision.story.terms import container_in_words, nodes_in_words
from numafit.decision.story.words import (
    cause_in_words,
    hint_in_words,
    hints_in_words,
    loose_in_words,
    together_in_words,
)
from numafit.machine.model import Machine
from numafit.managers.protocol import EMPTY_SHARED_POOL, SMT_ALIGNMENT, TOPOLOGY_AFFINITY, UNEXPECTED
from numafit.managers.refused import OddCpus, WholeCoresShort
from numafit.managers.topology.policy import RESTRICTED, SINGLE_NUMA_NODE

MANAGERS = ("devices", "cpu", "memory")
_ODD = re.compile(r"requested (\d+) cpus not multiple cpus per core = ([1-9]\d*)")
_SHORT = re.compile(r"available physical CPUs = (\d+), requested CPUs = (\d+), CPUs per core = ([1-9]\d*)")


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
        f"{hint_in_words(merge.best)}, numafit gets {hint_in_words(check.computed)}. "
        "Hint lines may be missing, or the machine or an option differs from what the log shows."
    )


def _sentence(admission: Admission, kubelet: LoggedKubelet, machine: Machine | None) -> str:
    if admission.admitted is None:
        return "The log does not tell how this ended."
    if admission.admitted:
        return _admitted(admission, kubelet) + _beyond(admission, node_cpus(kubelet, machine))
    if admission.reason != TOPOLOGY_AFFINITY:
        return _refused(admission)
    last = admission.merges[-1] if admission.merges else None
    cause = None if last is None else _cause(last, kubelet, kubelet.policies & {RESTRICTED, SINGLE_NUMA_NODE})
    return cause_in_words(Untold() if cause is None else MergeRefused(kubelet.policy, cause))


def _cause(merge: LoggedMerge, kubelet: LoggedKubelet, policies: Collection[str]) -> MergeCause | None:
    """What explains it under one of the policies and releases that the log leaves open."""
    if all(hints is None for own in merge.providers for hints in (own or {}).values()):
        return None
    rules = {behaviour.merge_equal_masks for behaviour in behaviours(kubelet)}
    for policy in sorted(policies):
        # preferred sets without a common node are not equal either: with both releases possible that says more
        for equal in sorted(rules):
            cause = merge_cause(merge.container, merge.providers, single=policy == SINGLE_NUMA_NODE, equal=equal)
            if cause is not None:
                return cause
    return None


def _refused(admission: Admission) -> str:
    reason, message = admission.reason, admission.message
    cause = _whole_cores(message) if reason == SMT_ALIGNMENT else None
    if cause is not None:
        # A container is allocated right after its merge; in the pod's scope there is one merge for all of them.
        container = admission.merges[-1].container if admission.merges else ""
        return refused_in_words(ManagerRefused(container, cause), "" if container else "one of its containers")
    if reason.startswith(OUT_OF):
        return f"The node as a whole is short of it: {message}."
    if reason not in (UNEXPECTED, EMPTY_SHARED_POOL):
        return f"It is rejected for another reason than its place, {reason or 'which is not told'}: {message}."
    if admission.merges:
        return f"The merge let the pod pass, then a manager could not allocate: {message}."
    return f"A manager could not allocate: {message}."


def _whole_cores(message: str) -> OddCpus | WholeCoresShort | None:
    """What full-pcpus-only missed, by the kubelet's message."""
    odd = _ODD.search(message)
    if odd:
        wanted, threads = map(int, odd.groups())
        return OddCpus(wanted, threads) if wanted % threads else WholeCoresShort(wanted, 0, threads)
    short = _SHORT.search(message)
    if short:
        free, wanted, threads = map(int, short.groups())
        return WholeCoresShort(wanted, free, threads)
    return None


def _admitted(admission: Admission, kubelet: LoggedKubelet) -> str:
    nodes, cpus = 0, 0
    for merge in admission.merges:
        nodes |= (merge.best[0] or 0) if merge.best else 0
    for own in admission.cpus.values():
        cpus |= own
    devices = {device for own in admission.devices.values() for ids in own.values() for device in ids}
    parts = [f"CPUs {cpuset_text(cpus)}" if cpus else "the shared CPUs", *sorted(devices)]
    text = f"Admitted with {', '.join(parts)}{f', merged to {nodes_in_words(nodes)}' if nodes else ''}."
    loose = [merge for merge in admission.merges if merge.best is not None and not merge.best[1]]
    for merge in loose[:1]:
        cause = _cause(merge, kubelet, (RESTRICTED,))
        text += " The merged hint is not preferred." if cause is None else f" {loose_in_words(cause)}"
    return text


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
            return f" Not all CPUs lie there: they need {together_in_words(places_of(masks))}."
    return ""


def node_cpus(kubelet: LoggedKubelet, machine: Machine | None) -> Mapping[int, int]:
    """NUMA node -> its CPUs, from the machine or else from the log; empty where neither is known."""
    if machine is None or not machine.numa_nodes:
        return kubelet.cpus
    cpus = {node.id: 0 for node in sorted(machine.numa_nodes, key=lambda node: node.id)}
    for cpu in machine.cpus:
        if cpu.numa in cpus:
            cpus[cpu.numa] |= 1 << cpu.id
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
    return Chapter(merge.container, (), hints, merge.best, f"merged to {hint_in_words(merge.best)}{verdict}")
