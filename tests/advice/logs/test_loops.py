"""Pods that are rejected, made again, and rejected again."""

import pytest

from numafit.advice.logs.loops import family_of
from tests.advice.logs.log_text import denied, json_hint, json_map, klog, merge_lines, report_of

TOPOLOGY = "TopologyAffinityError"


def test_the_same_name_under_new_uids_is_a_loop() -> None:
    """How often, how fast, since when."""
    lines = [denied("db/store-0", f"u{i}", TOPOLOGY, at=10 + 0.5 * i) for i in range(21)]
    (loop,) = report_of(lines).loops
    assert (loop.pod, loop.rejections, loop.recreations, loop.seconds, loop.period) == ("db/store-0", 21, 20, 10.0, 0.5)
    assert (loop.first, loop.last, loop.ended) == ("Aug 15 22:00:10.000000", "Aug 15 22:00:20.000000", "")


def test_the_same_pod_told_of_again_is_no_loop() -> None:
    """A kubelet that restarts may refuse a pod a second time under the same UID."""
    assert report_of([denied("db/store-0", "u1", TOPOLOGY, at=second) for second in (1, 2, 3)]).loops == ()


def test_one_rejection_is_no_loop() -> None:
    assert report_of([denied("db/store-0", "u1", TOPOLOGY)]).loops == ()


def test_a_pod_that_was_there_before_and_comes_again_is_a_loop_with_one_rejection() -> None:
    """A short piece of a log: the old UID before, a new pod after (1.28)."""
    recreated = (
        '"Pod was deleted and then recreated, skipping status update" pod="db/store-0" oldPodUID="u0" podUID="u1"'
    )
    lines = [
        denied("db/store-0", "u1", TOPOLOGY, at=1),
        klog(recreated, 1.2),
        klog('"Receiving a new pod" pod="db/store-0"', 1.6),
    ]
    (loop,) = report_of(lines).loops
    assert (loop.rejections, loop.recreations, loop.period) == (1, 2, 0.6)
    assert report_of(lines[:2]).loops == ()


def test_a_pod_that_is_repaired_and_comes_once_more_is_no_loop() -> None:
    lines = [
        denied("db/store-0", "u1", TOPOLOGY, at=1),
        klog('"Receiving a new pod" pod="db/store-0"', 60),
        *merge_lines("db/store-0", "c", [json_map("cpu", [(1, True)])] * 2, json_hint(1, True), stored=True, at=61),
    ]
    assert report_of(lines).loops == ()


def test_a_loop_that_ends_in_an_admission_says_when() -> None:
    lines = [denied("db/store-0", f"u{i}", TOPOLOGY, at=i) for i in range(3)]
    lines += merge_lines("db/store-0", "c", [json_map("cpu", [(1, True)])] * 2, json_hint(1, True), stored=True, at=9)
    (loop,) = report_of(lines).loops
    assert (loop.rejections, loop.ended) == (3, "Aug 15 22:00:09.000000")


def test_generated_names_are_counted_by_their_prefix() -> None:
    """ReplicaSets give each new pod another name; two may be two replicas side by side."""
    names = [f"web/app-6d4cf56db6-{suffix}" for suffix in ("x2x5v", "b4c6d", "zzzzz")]
    lines = [denied(name, f"u{i}", TOPOLOGY, at=i) for i, name in enumerate(names)]
    (loop,) = report_of(lines).loops
    assert (loop.pod, loop.rejections, loop.recreations) == ("web/app-6d4cf56db6-*", 3, 2)
    assert report_of(lines[:2]).loops == ()


@pytest.mark.parametrize(
    ("pod", "family"),
    [
        ("ns/web-6d4cf56db6-x2x5v", "ns/web-6d4cf56db6-*"),
        ("ns/job-zzzzz", "ns/job-*"),
        ("ns/store-0", "ns/store-0"),
        ("ns/kube-proxy", "ns/kube-proxy"),
        ("ns/-x2x5v", "ns/-x2x5v"),
        ("", ""),
    ],
)
def test_only_letters_that_the_api_server_uses_make_a_generated_name(pod: str, family: str) -> None:
    assert family_of(pod) == family


def test_the_ways_out_name_a_looser_policy_than_the_one_that_was_set() -> None:
    best = json_hint(1, False)
    maps = [json_map("cpu", [(1, True)]), json_map("memory", [(2, True)])]
    lines = [line for i in range(2) for line in merge_lines("db/s", "c", maps, best, stored=False, at=i)]
    (loop,) = report_of([*lines, klog('"SyncLoop ADD" source="api" pods=["db/x"]', 9)]).loops
    assert any("to best-effort" in way for way in loop.ways_out)
    assert report_of([denied("db/s", f"u{i}", "OutOfcpu") for i in range(2)]).loops[0].ways_out == (
        "cordon the node, so that the scheduler puts the next pod elsewhere",
        "ask for less, or free what the pod needs on this node",
    )


def test_a_long_loop_is_told_once_with_its_number() -> None:
    """Memory stays bounded: equal rejections are one, however many."""
    report = report_of([denied("db/store-0", f"u{i}", TOPOLOGY, at=i) for i in range(50)])
    assert [(kept.times, kept.last) for kept in report.kept] == [(50, "Aug 15 22:00:49.000000")]
    assert report.rejected == 50
