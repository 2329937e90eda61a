"""Which pods start together: what labels, annotations, owners and the objects behind them tell."""

import json

import msgspec
import pytest

from numafit.fleet.waiting.members import GroupObject, GroupOwner, GroupSize, Membership, membership, needed, size_of

JOB = GroupOwner("Job", "train", "job-uid")
LWS_LABELS = {
    "leaderworkerset.sigs.k8s.io/name": "serve",
    "leaderworkerset.sigs.k8s.io/group-index": "1",
    "leaderworkerset.sigs.k8s.io/worker-index": "0",
    "leaderworkerset.sigs.k8s.io/group-key": "abc",
    "leaderworkerset.sigs.k8s.io/template-revision-hash": "r1",
}
LWS_SIZE = {"leaderworkerset.sigs.k8s.io/size": "4"}
JOBSET_LABELS = {
    "jobset.sigs.k8s.io/jobset-name": "set",
    "jobset.sigs.k8s.io/jobset-uid": "u",
    "jobset.sigs.k8s.io/replicatedjob-name": "worker",
    "jobset.sigs.k8s.io/restart-attempt": "2",
}


def found(member: Membership | None) -> Membership:
    assert member is not None
    return member


def test_a_group_of_our_own_is_named_with_its_size_by_label_or_annotation() -> None:
    own = found(membership("ns", {"numafit.io/group": "g", "numafit.io/group-size": "4"}, {}))
    assert own == Membership("ns/group/g", "g", 4)
    assert own == membership("ns", {}, {"numafit.io/group": "g", "numafit.io/group-size": "4"}, JOB)
    assert (needed(own, None).size, needed(own, None).key) == (4, "ns/group/g")


def test_a_size_alone_makes_a_group_of_the_controllers_pods() -> None:
    own = found(membership("ns", {}, {"numafit.io/group-size": "4"}, JOB))
    assert (own.key, own.size, own.source) == ("ns/Job/job-uid", 4, None)
    assert membership("ns", {}, {"numafit.io/group-size": "4"}) is None
    own = found(membership("ns", JOBSET_LABELS, {"numafit.io/group-size": "4"}, JOB))
    assert own.key == "ns/JobSet/set/u/2"


@pytest.mark.parametrize("text", ["", "0", "-1", "many", "1e9", "99999999", "٣"])
def test_a_size_that_is_no_number_makes_no_group(text: str) -> None:
    own = found(membership("ns", {}, {"numafit.io/group": "g", "numafit.io/group-size": text}))
    assert needed(own, None).size == 1


def test_a_job_and_a_jobset_say_nothing_by_themselves() -> None:
    assert membership("ns", {"batch.kubernetes.io/job-name": "train"}, {}, JOB) is None
    assert membership("ns", JOBSET_LABELS, {}, JOB) is None


def test_a_job_whose_pods_start_together_has_as_many_as_it_runs_at_once() -> None:
    own = found(membership("ns", {}, {"numafit.io/together": "true"}, JOB))
    assert own.source == GroupObject("Job", "ns", "train")
    for spec, status, size in (
        ({"parallelism": 4, "completions": 4}, {}, 4),
        ({"parallelism": 4, "completions": 10}, {"succeeded": 8}, 2),
        ({"parallelism": 4, "completions": 4}, {"succeeded": 4}, 1),
        ({}, {}, 1),
    ):
        read = size_of("Job", json.dumps({"spec": spec, "status": status}).encode())
        assert needed(own, read).size == size
    # nobody may read the Job
    assert needed(own, None).size == 1


def test_a_jobset_is_one_group_unless_its_jobs_wait_for_each_other() -> None:
    own = found(membership("ns", JOBSET_LABELS, {"numafit.io/together": "true"}, JOB))
    assert own.source == GroupObject("JobSet", "ns", "set")
    jobs: list[dict[str, object]] = [
        {"name": "driver", "template": {"spec": {}}},
        {"name": "worker", "replicas": 2, "template": {"spec": {"parallelism": 4, "completions": 4}}},
    ]
    whole = size_of("JobSet", json.dumps({"spec": {"replicatedJobs": jobs}}).encode())
    assert (needed(own, whole).key, needed(own, whole).size) == ("ns/JobSet/set/u/2", 9)
    changes: tuple[dict[str, object], ...] = (
        {"replicatedJobs": jobs, "startupPolicy": {"startupPolicyOrder": "InOrder"}},
        {"replicatedJobs": [jobs[0], {**jobs[1], "dependsOn": [{"name": "driver"}]}]},
    )
    for change in changes:
        read = size_of("JobSet", json.dumps({"spec": change}).encode())
        assert (needed(own, read).key, needed(own, read).size) == ("ns/JobSet/set/u/2/worker", 8)


def test_a_leader_that_must_be_ready_first_comes_alone() -> None:
    """Its workers are not made before; where nobody can read the set it is taken for such a one."""
    leader = found(membership("ns", LWS_LABELS, LWS_SIZE))
    worker = found(membership("ns", {**LWS_LABELS, "leaderworkerset.sigs.k8s.io/worker-index": "2"}, LWS_SIZE))
    assert leader.source == GroupObject("LeaderWorkerSet", "ns", "serve")
    created = size_of("LeaderWorkerSet", b'{"spec": {}}')
    assert needed(leader, created) == needed(worker, created)
    assert needed(leader, created).size == 4
    for read in (size_of("LeaderWorkerSet", b'{"spec": {"startupPolicy": "LeaderReady"}}'), None):
        assert needed(leader, read).size == 1
        assert needed(worker, read).size == 3
        assert needed(leader, read).key != needed(worker, read).key
    exclusive = {**LWS_SIZE, "leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"}
    assert found(membership("ns", LWS_LABELS, exclusive)).source is None


def test_a_pod_group_tells_its_size_itself() -> None:
    own = found(membership("ns", {"scheduling.x-k8s.io/pod-group": "g"}, {}))
    assert own.source == GroupObject("PodGroup", "ns", "g")
    assert needed(own, size_of("PodGroup", b'{"spec": {"minMember": 3}}')).size == 3
    gang = found(membership("ns", {}, {}, JOB, "g"))
    assert gang.source == GroupObject("SchedulingPodGroup", "ns", "g")
    policy = {"spec": {"schedulingPolicy": {"gang": {"minCount": 5}}}}
    assert needed(gang, size_of("SchedulingPodGroup", json.dumps(policy).encode())).size == 5
    assert needed(gang, size_of("SchedulingPodGroup", b'{"spec": {"schedulingPolicy": {"basic": {}}}}')).size == 1


def test_a_pod_may_say_that_it_waits_for_nobody() -> None:
    alone = {"numafit.io/together": "false"}
    assert membership("ns", {"scheduling.x-k8s.io/pod-group": "g", **LWS_LABELS}, alone, JOB, "g") is None


def test_an_object_that_is_something_else_is_an_error_that_can_be_caught() -> None:
    with pytest.raises(msgspec.MsgspecError):
        size_of("Job", b'{"spec": {"parallelism": "many"}}')
    assert size_of("PodGroup", b"{}") == GroupSize(None)


def test_with_exclusive_placement_a_jobset_is_not_waited_for_as_a_whole() -> None:
    """The webhook of JobSet (v0.12.0) refuses the others of a Job until the pod with index 0 is bound."""
    exclusive = {"numafit.io/together": "true", "alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
    leader, worker = (
        found(membership("ns", JOBSET_LABELS, {**exclusive, "batch.kubernetes.io/job-completion-index": index}, JOB))
        for index in "01"
    )
    assert leader.source == worker.source == GroupObject("Job", "ns", "train")
    read = GroupSize(4)
    assert [(needed(own, read).key, needed(own, read).size) for own in (leader, worker)] == [
        ("ns/Job/job-uid/leader", 1),
        ("ns/Job/job-uid/workers", 3),
    ]
    assert needed(worker, None).size == 1
    labelled = {**exclusive, "alpha.jobset.sigs.k8s.io/node-selector": "true"}
    assert found(membership("ns", JOBSET_LABELS, labelled, JOB)).key == "ns/JobSet/set/u/2"
