"""Which pods have to start together, as their labels, annotations and owners tell it, and how many they are.

    who says it                                              a group is                   its size
    numafit.io/group, numafit.io/group-size                  the pods with that name      as written
    numafit.io/group-size alone                              the pods of one controller   as written
    spec.schedulingGroup (Kubernetes 1.36)                   its PodGroup                 gang.minCount of it
    scheduling.x-k8s.io/pod-group                            its PodGroup                 minMember of it
    leaderworkerset.sigs.k8s.io/name                         one group of the set         the size it writes
    numafit.io/together: "true" and a JobSet                 the set in one attempt       what its Jobs run at once
    numafit.io/together: "true" and a Job                    the Job                      what it runs at once

The first that applies counts. `numafit.io/together: "false"` takes a pod out of all of them. A Job and a JobSet say
nothing by themselves: most of them do not mind to start one by one.

Some sizes stand in an object that somebody has to read; `size_of` tells what it says. A size that nobody can tell makes
no group: such pods come one by one, rather than to wait for what nobody knows.

Who makes its pods one after the other must not be waited for: a LeaderWorkerSet with startupPolicy LeaderReady, or with
exclusive placement, makes the workers when the leader is there. There the leader comes alone, and the workers together;
so it is where the set cannot be read. A JobSet whose Jobs wait for each other has a group for each of them. One with
exclusive placement makes the others of a Job when the pod with index 0 is bound (seen with v0.12.0): there each Job has
a group of its own, without that pod, which comes alone.

Where the scheduler itself keeps a gang (spec.schedulingGroup with gang) it waits for all of them at its last step, and
holds their shares meanwhile. So we let its pods go together, too, each to a node that has room for it.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

GROUP, GROUP_SIZE, TOGETHER = "numafit.io/group", "numafit.io/group-size", "numafit.io/together"
POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
LWS = "leaderworkerset.sigs.k8s.io/"
JOBSET = "jobset.sigs.k8s.io/"
EXCLUSIVE, BY_SELECTOR = "alpha.jobset.sigs.k8s.io/exclusive-topology", "alpha.jobset.sigs.k8s.io/node-selector"
"""Annotations of a JobSet's pods. With the second somebody has labelled the nodes, and no pod waits for another."""
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
NO_TEXT: Mapping[str, str] = {}

GroupObjectKind = Literal["PodGroup", "SchedulingPodGroup", "LeaderWorkerSet", "JobSet", "Job"]
"""`PodGroup` is that of scheduling.x-k8s.io, `SchedulingPodGroup` that of Kubernetes itself."""


class GroupObject(msgspec.Struct, frozen=True):
    """An object that tells the size of a group."""

    kind: GroupObjectKind
    namespace: str
    name: str


class GroupOwner(msgspec.Struct, frozen=True):
    """The controller of a pod."""

    kind: str
    name: str
    uid: str


class Membership(msgspec.Struct, frozen=True):
    key: str
    """Of the group: namespace, what it is, and its name."""
    name: str
    """As people know it."""
    size: int | None = None
    """What the pod itself says; None where it does not."""
    source: GroupObject | None = None
    """Where the size stands, or whether the pods are made one after the other."""
    leader: bool = False
    """Of a LeaderWorkerSet, or of a Job whose others come after it."""
    led: bool = False
    """The others are made after the leader, whatever its object says."""
    part: str = ""
    """Of a JobSet: the name of its replicated Job."""


class GroupSize(msgspec.Struct, frozen=True):
    """What an object says about its groups."""

    size: int | None
    """So many have to start together; None: it says nothing, so each pod comes alone."""
    stepwise: bool = False
    """Its pods are made one after the other: a leader first, or one Job after the other."""
    parts: Mapping[str, int] = {}
    """Of a JobSet: replicated Job -> its pods."""


def membership(
    namespace: str,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    owner: GroupOwner | None = None,
    scheduling_group: str = "",
) -> Membership | None:
    """None: it comes alone."""
    together = _told(TOGETHER, labels, annotations)
    if together == "false":
        return None
    name, size = _told(GROUP, labels, annotations), whole_number(_told(GROUP_SIZE, labels, annotations))
    if name:
        return Membership(f"{namespace}/group/{name}", name, size)
    if size is not None and owner is not None:
        return _of_owner(namespace, labels, owner, size, None)
    if scheduling_group:
        source = GroupObject("SchedulingPodGroup", namespace, scheduling_group)
        return Membership(f"{namespace}/schedulingGroup/{scheduling_group}", scheduling_group, None, source)
    if POD_GROUP_LABEL in labels:
        name = labels[POD_GROUP_LABEL]
        return Membership(f"{namespace}/pod-group/{name}", name, None, GroupObject("PodGroup", namespace, name))
    if f"{LWS}name" in labels:
        return _of_leader_set(namespace, labels, annotations)
    if together == "true" and owner is not None:
        if EXCLUSIVE in annotations and BY_SELECTOR not in annotations:
            source = GroupObject("Job", namespace, owner.name)
            leader = annotations.get(COMPLETION_INDEX) == "0"
            return Membership(f"{namespace}/Job/{owner.uid}", owner.name, None, source, leader=leader, led=True)
        if f"{JOBSET}jobset-name" in labels:
            source = GroupObject("JobSet", namespace, labels[f"{JOBSET}jobset-name"])
            return _of_owner(namespace, labels, owner, None, source)
        if owner.kind == "Job":
            return _of_owner(namespace, labels, owner, None, GroupObject("Job", namespace, owner.name))
    return None


def _told(name: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    return annotations.get(name) or labels.get(name, "")


def whole_number(text: str) -> int | None:
    """From 1 on; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 and int(text) else None


def _of_owner(
    namespace: str, labels: Mapping[str, str], owner: GroupOwner, size: int | None, source: GroupObject | None
) -> Membership:
    """A Job that is made anew has another UID, and so has a JobSet; its attempts count apart."""
    name = labels.get(f"{JOBSET}jobset-name", "")
    if not name:
        return Membership(f"{namespace}/{owner.kind}/{owner.uid}", owner.name, size, source)
    uid, attempt = labels.get(f"{JOBSET}jobset-uid", ""), labels.get(f"{JOBSET}restart-attempt", "0")
    part = labels.get(f"{JOBSET}replicatedjob-name", "")
    return Membership(f"{namespace}/JobSet/{name}/{uid}/{attempt}", name, size, source, part=part)


def _of_leader_set(namespace: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Membership:
    name, index = labels[f"{LWS}name"], labels.get(f"{LWS}group-index", "0")
    group, revision = labels.get(f"{LWS}group-key", index), labels.get(f"{LWS}template-revision-hash", "")
    source = None
    if f"{LWS}exclusive-topology" not in annotations:
        source = GroupObject("LeaderWorkerSet", namespace, name)
    return Membership(
        f"{namespace}/LeaderWorkerSet/{name}/{group}/{revision}",
        f"{name}-{index}",
        whole_number(annotations.get(f"{LWS}size", "")),
        source,
        leader=labels.get(f"{LWS}worker-index") == "0",
    )


class NeededNumber(msgspec.Struct, frozen=True):
    """For one pod: with whom it waits, and for how many."""

    key: str
    name: str
    size: int
    """1: it waits for nobody."""


def needed(member: Membership, read: GroupSize | None) -> NeededNumber:
    """`read`: what its object says; None where there is none, or where it cannot be read."""
    if member.key.split("/")[1] == "LeaderWorkerSet":
        size = member.size or 1
        if read is not None and not read.stepwise:
            return NeededNumber(member.key, member.name, size)
        return _without_leader(member, size)
    if member.led:
        return _without_leader(member, (read.size if read is not None else None) or 1)
    if read is not None and read.stepwise and member.part:
        part = read.parts.get(member.part)
        size = part if part is not None and member.size is None else member.size or 1
        return NeededNumber(f"{member.key}/{member.part}", f"{member.name}-{member.part}", size)
    size = member.size or (read.size if read is not None else None) or 1
    return NeededNumber(member.key, member.name, size)


def _without_leader(member: Membership, size: int) -> NeededNumber:
    which = "leader" if member.leader else "workers"
    return NeededNumber(f"{member.key}/{which}", member.name, 1 if member.leader else max(1, size - 1))


# --- what objects say ------------------------------------------------------------------------------------------------


class _Gang(msgspec.Struct):
    minCount: int = 1


class _Policy(msgspec.Struct):
    gang: _Gang | None = None


class _PodGroupSpec(msgspec.Struct):
    minMember: int | None = None
    schedulingPolicy: _Policy | None = None


class _JobSpec(msgspec.Struct):
    parallelism: int | None = None
    completions: int | None = None


class _JobStatus(msgspec.Struct):
    succeeded: int = 0


class _JobTemplate(msgspec.Struct):
    spec: _JobSpec = msgspec.field(default_factory=_JobSpec)


class _ReplicatedJob(msgspec.Struct):
    name: str = ""
    replicas: int = 1
    template: _JobTemplate = msgspec.field(default_factory=_JobTemplate)
    dependsOn: Sequence[object] | None = None


class _StartupPolicy(msgspec.Struct):
    startupPolicyOrder: str = ""


class _JobSetSpec(msgspec.Struct):
    replicatedJobs: tuple[_ReplicatedJob, ...] = ()
    startupPolicy: _StartupPolicy | None = None


class _LeaderSetSpec(msgspec.Struct):
    startupPolicy: str = "LeaderCreated"


class _PodGroupObject(msgspec.Struct):
    spec: _PodGroupSpec = msgspec.field(default_factory=_PodGroupSpec)


class _JobObject(msgspec.Struct):
    spec: _JobSpec = msgspec.field(default_factory=_JobSpec)
    status: _JobStatus = msgspec.field(default_factory=_JobStatus)


class _JobSetObject(msgspec.Struct):
    spec: _JobSetSpec = msgspec.field(default_factory=_JobSetSpec)


class _LeaderSetObject(msgspec.Struct):
    spec: _LeaderSetSpec = msgspec.field(default_factory=_LeaderSetSpec)


def size_of(kind: GroupObjectKind, document: bytes) -> GroupSize:
    """From the object as the API server sends it. Raises msgspec.MsgspecError where it is something else."""
    if kind == "PodGroup":
        return GroupSize(msgspec.json.decode(document, type=_PodGroupObject).spec.minMember)
    if kind == "SchedulingPodGroup":
        policy = msgspec.json.decode(document, type=_PodGroupObject).spec.schedulingPolicy
        return GroupSize(policy.gang.minCount if policy is not None and policy.gang is not None else None)
    if kind == "LeaderWorkerSet":
        spec = msgspec.json.decode(document, type=_LeaderSetObject).spec
        return GroupSize(None, spec.startupPolicy == "LeaderReady")
    if kind == "Job":
        job = msgspec.json.decode(document, type=_JobObject)
        return GroupSize(max(1, at_once(job.spec.parallelism, job.spec.completions, job.status.succeeded)))
    jobs = msgspec.json.decode(document, type=_JobSetObject).spec
    parts = {
        own.name: own.replicas * at_once(own.template.spec.parallelism, own.template.spec.completions)
        for own in jobs.replicatedJobs
    }
    ordered = jobs.startupPolicy is not None and jobs.startupPolicy.startupPolicyOrder == "InOrder"
    stepwise = ordered or any(own.dependsOn for own in jobs.replicatedJobs)
    return GroupSize(sum(parts.values()), stepwise, parts)


def at_once(parallelism: int | None, completions: int | None, succeeded: int = 0) -> int:
    """So many pods a Job has at the same time."""
    most = 1 if parallelism is None else parallelism
    return most if completions is None else min(most, max(0, completions - succeeded))
