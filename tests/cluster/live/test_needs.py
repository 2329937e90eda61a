"""Which pods need a decision."""

from numafit.cluster.live import needs
from numafit.cluster.live.needs import NeedAnswers
from tests.cluster.extender.asked import AskedExtender
from tests.cluster.live.cluster_objects import kept, pod_object


def test_pods_with_cpus_of_their_own_need_a_decision_and_others_do_not() -> None:
    own = NeedAnswers(AskedExtender().live)
    shared = pod_object("shared")
    shared["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m", "memory": "1Gi"}}
    assert own.needed(kept(pod_object("whole")).pod)
    assert not own.needed(kept(shared).pod)


def test_an_answer_is_remembered_for_a_moment() -> None:
    asked, now = AskedExtender(nodes=0), [0.0]
    own = NeedAnswers(asked.live, lambda: now[0])
    pod = kept(pod_object("whole")).pod
    assert not own.needed(pod)
    asked.live.book.fleet = AskedExtender().live.fleet
    assert not own.needed(pod)
    now[0] += needs.ANSWER_SECONDS
    assert own.needed(pod)
