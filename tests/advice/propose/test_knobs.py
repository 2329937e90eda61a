"""The numbers of a pod, turned step by step."""

from hypothesis import given, settings

from numafit.advice.propose.knobs import MI, Knob, amount_of, is_valid, knobs_of, turned
from numafit.workload.pod import Pod
from tests.decision.strategies import container, cpus, pod, pods


@settings(max_examples=50)
@given(pods("a"))
def test_a_turned_number_is_the_only_one_that_changes(of: Pod) -> None:
    for knob in knobs_of(of):
        changed = turned(of, knob, knob.step)
        assert amount_of(changed, knob) == knob.step
        others = [other for other in knobs_of(of) if other != knob]
        assert [amount_of(changed, other) for other in others] == [amount_of(of, other) for other in others]
        assert is_valid(changed)


def test_steps_are_whole_cpus_mebibytes_and_devices() -> None:
    """A fraction of a CPU goes by tenths. What has only one step left cannot be turned down."""
    of = pod("a", container("app", {"cpu": "1500m", "memory": "1Gi", "example.com/x": "2", "example.com/y": "1"}))
    assert knobs_of(of) == (Knob("app", "cpu", 100), Knob("app", "example.com/x", 1), Knob("app", "memory", MI))


def test_a_limit_above_the_request_stays() -> None:
    """The pod is Burstable before and after."""
    of = pod("a", container("app", {"cpu": "4"}, requests={"cpu": "2"}))
    (app,) = turned(of, Knob("app", "cpu", 1000), 1000).containers
    assert (str(app.requests["cpu"]), str(app.limits["cpu"])) == ("1", "4")


def test_a_limit_that_equals_the_request_follows_it() -> None:
    (app,) = turned(pod("a", cpus("app", "4")), Knob("app", "cpu", 1000), 3000).containers
    assert (str(app.requests["cpu"]), str(app.limits["cpu"])) == ("3", "3")
