"""A past as a file of events."""

from numafit.advice.past.past import Past, choices_of, past_text
from numafit.decision.history.event import AddPods, RestartKubelet
from numafit.decision.history.lines import line_of, read_events
from numafit.notes import Note
from tests.advice.past.pasts import VERSION, come, devices, gone, kubelet, past, pod, registers


def test_the_file_says_when_each_event_was_and_what_is_missing() -> None:
    events = (AddPods((pod("a"),)), RestartKubelet())
    found = Past("log", events, ("Nov 15 07:00:00", "Nov 15 07:00:09"), notes=(Note("past-not-played", "k", "no"),))
    assert past_text(found).splitlines()[1:] == [
        "# k: no",
        "add default/a  # Nov 15 07:00:00",
        "restart        # Nov 15 07:00:09",
    ]


def test_what_is_written_reads_as_the_same_events() -> None:
    """Also of a pod that comes twice."""
    gpus = devices("lab.io/gpu=g0@0,g1@1")
    lines = kubelet(VERSION, come("a"), registers(), come("b"), gone("a"), come("a"))
    lines += kubelet(VERSION, come("b", "c"), process=8)
    pods = [pod("a"), pod("b"), pod("c")]
    found = past(lines, *pods, offered=gpus)
    read = read_events(past_text(found), "events", pods)
    assert [line_of(event) for event in read] == [line_of(event) for event in found.events]
    assert [getattr(event, "pods", ()) for event in read] == [getattr(event, "pods", ()) for event in found.events]


def test_static_pods_are_admitted_again_in_the_order_of_the_source() -> None:
    pods = [pod("a", static=True), pod("b", static=True)]
    make = choices_of(Past("log", (), (), orders=(("uid-b", "uid-a"),)))
    assert [own.uid for own in make().pods(pods)] == ["uid-b", "uid-a"]
    assert make().pods(pods) == pods
