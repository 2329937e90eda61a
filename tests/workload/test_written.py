"""A pod written as a manifest is the same pod again."""

from hypothesis import given
from msgspec.structs import replace

from numafit.workload.demands import NO_DEMANDS
from numafit.workload.pod import Pod
from numafit.workload.reading import read_pods
from numafit.workload.written import pod_manifest
from tests.decision.strategies import pods


@given(pods("a"))
def test_a_pod_that_is_written_reads_as_it_was(pod: Pod) -> None:
    """But for its UID."""
    (found,) = read_pods(pod_manifest(pod)).pods
    plain = replace(pod, uid=found.uid, demands=NO_DEMANDS, unread=found.unread)
    assert (found.name, found.namespace) == (plain.name, plain.namespace)
    assert [(each.name, each.limits, each.restartable) for each in found.all_containers] == [
        (each.name, each.limits, each.restartable) for each in plain.all_containers
    ]
    for new, old in zip(found.all_containers, plain.all_containers, strict=True):
        assert new.requests == {**old.limits, **old.requests}
