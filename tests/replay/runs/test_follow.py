"""Choices that fall as a run saw them."""

from typing import Any

from numafit.ledger.state_files import DEVICE_FILE
from numafit.replay.runs.follow import SeenChoices, failed_at, given_at, orders_of
from numafit.replay.runs.seen import decision
from tests.decision.strategies import pod

ENTRY = {"PodUID": "1", "ContainerName": "c", "ResourceName": "gpu", "DeviceIDs": {"0": ["g2"], "1": ["g3"]}}
SEEN: dict[str, Any] = {"files": {DEVICE_FILE: {"Data": {"PodDeviceEntries": [ENTRY]}}}}


def test_devices_that_were_given_are_taken_first() -> None:
    choices = SeenChoices(given_at([SEEN], 0))
    assert choices.devices("c", "gpu", {"g0", "g1", "g2", "g3"}, 2) == ["g2", "g3", "g0", "g1"]
    assert choices.devices("other", "gpu", {"g3", "g0"}, 1) == ["g0", "g3"]


def test_the_next_device_file_tells_what_was_given() -> None:
    """Events that end before anything was looked at."""
    assert given_at([None, {"decisions": []}, SEEN], 0) == {("c", "gpu"): frozenset({"g2", "g3"})}
    assert given_at([SEEN, None], 1) == {}


def test_of_the_answers_of_a_plugin_the_one_that_was_seen_is_taken() -> None:
    choices = SeenChoices(given_at([SEEN], 0))
    assert choices.preferred("c", "gpu", iter([("g0", "g1"), ("g2", "g3")])) == ("g2", "g3")
    assert choices.preferred("c", "gpu", iter([("g0", "g1"), ("g1", "g2")])) == ("g0", "g1")


def test_what_is_stale_goes_in_one_order_or_in_the_other() -> None:
    """Seen live in 1.36.4, seed 4031: two containers of one pod, one of them on a group of NUMA nodes."""
    stale = [("1", "c0"), ("1", "i0")]
    assert SeenChoices({}).stale(stale) == stale
    assert SeenChoices({}, backwards=True).stale(stale) == stale[::-1]


def test_static_pods_come_in_the_order_that_is_told() -> None:
    pods = [pod(uid) for uid in ("a", "b", "c")]
    assert [each.uid for each in SeenChoices({}, ("c", "a")).pods(pods)] == ["c", "a", "b"]


def test_an_order_keeps_that_of_refusals_and_puts_the_others_between_them() -> None:
    decisions = [
        decision("a", "a", "admission"),
        decision("x", "x", "admission", False, "no"),
        decision("y", "y", "admission", False, "no"),
        decision("v", "v", "eviction", False, "Preempting"),
    ]
    assert list(orders_of({"decisions": decisions})) == [("a", "x", "y"), ("x", "a", "y"), ("x", "y", "a")]


def test_the_resource_that_a_refusal_names_was_the_first_to_fail() -> None:
    """Of two that a container cannot get. Seen with 1.36.4: a reboot, and no plugin came back."""
    text = "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices lab.io/nic, which is"
    decisions = [
        decision("a", "a", "admission"),
        decision("x", "x", "admission", False, "UnexpectedAdmissionError", f"{text} unexpected"),
    ]
    (named,) = failed_at({"decisions": decisions})
    assert SeenChoices({}, (), named).resources("c", ["lab.io/gpu", "lab.io/nic"]) == ["lab.io/nic", "lab.io/gpu"]
    assert SeenChoices({}).resources("c", ["lab.io/nic", "lab.io/gpu"]) == ["lab.io/gpu", "lab.io/nic"]


def test_what_a_refused_pod_was_given_all_the_same_came_before_what_failed() -> None:
    """The device file tells, and only of this pod: others have containers of the same name."""
    held = given_at([SEEN], 0, {"1"})
    assert SeenChoices({}, (), "fpga", held).resources("c", ["fpga", "gpu", "nic"]) == ["gpu", "fpga", "nic"]
    assert given_at([SEEN], 0, {"2"}) == {}
