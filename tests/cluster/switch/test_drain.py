"""Who goes and who stays, as `kubectl drain --ignore-daemonsets` has it."""

import msgspec

from numafit.cluster.switch.drain import BoundPods, DrainChoice, drain_of
from tests.cluster.switch.nodes import listed, pod

EMPTY = {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}]}
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "h"}}
PODS = [
    pod("web"),
    pod("agent", owner="DaemonSet"),
    pod("static", owner="Node", metadata=MIRROR),
    pod("done", owner="", phase="Succeeded"),
    pod("bare", owner=""),
    pod("data", spec=EMPTY),
    pod("leaving", owner="", spec=EMPTY, metadata={"deletionTimestamp": "2026-11-16T12:00:00Z"}),
]


def chosen(choice: DrainChoice) -> tuple[list[str], list[str], list[str]]:
    drain = drain_of(msgspec.json.decode(listed(PODS), type=BoundPods).items, choice)
    return (
        [each.metadata.name for each in drain.evicted],
        [each.pod.metadata.name for each in drain.staying],
        [each.pod.metadata.name for each in drain.blocked],
    )


def test_nothing_is_lost_unasked() -> None:
    assert chosen(DrainChoice()) == (["web", "leaving"], ["agent", "static", "done"], ["bare", "data"])


def test_what_may_be_lost_is_said_by_options() -> None:
    assert chosen(DrainChoice(force=True))[2] == ["data"]
    assert chosen(DrainChoice(empty_dir=True))[2] == ["bare"]
    assert chosen(DrainChoice(force=True, empty_dir=True))[2] == []
