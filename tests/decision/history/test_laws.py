"""What must hold over any history of a node."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.decision.history.event import (
    AddPods,
    Beginning,
    Event,
    ExitContainer,
    ForgetPlugin,
    ListDevices,
    PluginsAt,
    Reconcile,
    RemovePods,
    RestartKubelet,
    StartKubelet,
    StartPlugin,
    StopKubelet,
    StopPlugin,
)
from numafit.decision.history.happen import happen
from numafit.decision.history.lines import line_of, read_events
from numafit.decision.history.situation import Situation, situation_of
from numafit.decision.simulation import play_events
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Device
from numafit.workload.pod import Pod
from tests.decision.strategies import CALM, OFTEN, Ordered, nodes, pods, running
from tests.decision.test_laws import EXACT, cleaned, holdings

PLUGINS: tuple[PluginsAt, ...] = ("first", "late", "never")
beginnings = st.builds(Beginning, st.sampled_from(PLUGINS), reboot=st.booleans())


def begun(ordered: Ordered) -> Situation:
    """Every pod has a UID of its own: a real one comes once."""
    return situation_of(*running(ordered.machine, ordered.settings, ordered.plugins), None)


@st.composite
def happenings(draw: st.DrawFn, ordered: Ordered, most: int = 8) -> tuple[Event, ...]:
    """Events of all kinds; who goes, exits or changes is somebody who came, whether he was admitted or not."""
    came: list[Pod] = []
    present: list[Pod] = []
    events: list[Event] = []
    resources = sorted({device.resource for device in ordered.machine.devices})
    for number in range(draw(st.integers(1, most))):
        kinds = ["add", "add", "add", "reconcile", "restart", "stop", "start"]
        kinds += ["exit"] if came else []
        kinds += ["remove"] if present else []
        kinds += ["devices", "plugin-stop", "plugin-forget", "plugin-start"] if resources else []
        kind = draw(st.sampled_from(kinds))
        match kind:
            case "add":
                new = draw(pods(f"uid-{number}", OFTEN))
                came.append(replace(new, static=draw(st.integers(0, 5)) == 0))
                present.append(came[-1])
                events.append(AddPods((came[-1],)))
            case "remove":
                present.remove(leaves := draw(st.sampled_from(present)))
                events.append(RemovePods((leaves,)))
            case "exit":
                pod = draw(st.sampled_from(came))
                events.append(ExitContainer(pod, draw(st.sampled_from([own.name for own in pod.containers]))))
            case "reconcile":
                events.append(Reconcile())
            case "restart":
                events.append(RestartKubelet(draw(beginnings)))
            case "stop":
                events.append(StopKubelet())
            case "start":
                events.append(StartKubelet(draw(beginnings)))
            case _:
                resource = draw(st.sampled_from(resources))
                listed = tuple(
                    replace(device, healthy=draw(st.integers(0, 3)) > 0) for device in own(ordered, resource)
                )
                by_kind: dict[str, Event] = {
                    "devices": ListDevices(resource, listed),
                    "plugin-start": StartPlugin(resource, listed, again=True),
                    "plugin-stop": StopPlugin(resource),
                    "plugin-forget": ForgetPlugin(resource),
                }
                events.append(by_kind[kind])
    return tuple(events)


def own(ordered: Ordered, resource: str) -> tuple[Device, ...]:
    return tuple(device for device in ordered.machine.devices if device.resource == resource)


@st.composite
def runs(draw: st.DrawFn, ordered: st.SearchStrategy[Ordered], most: int = 8) -> tuple[Ordered, tuple[Event, ...]]:
    node = draw(ordered)
    return node, draw(happenings(node, most))


def exclusive(ledger: Ledger) -> list[int]:
    """The CPUs of each active pod."""
    found = []
    for uid in ledger.active:
        cpus = ledger.cpu.pod_entries.get(uid, 0)
        for each in ledger.cpu.entries.get(uid, {}).values():
            cpus |= each
        found.append(cpus)
    return found


def devices_held(ledger: Ledger) -> dict[str, set[tuple[str, str]]]:
    """Active pod -> (resource, device)."""
    return {
        uid: {
            (resource, device)
            for resources in ledger.device.held.get(uid, {}).values()
            for resource, held in resources.items()
            for device in held.ids
        }
        for uid in ledger.active
    }


def disjoint(sets: Sequence[set[tuple[str, str]]]) -> bool:
    return sum(map(len, sets)) == len(set().union(*sets))


@given(runs(nodes(preferences=CALM)))
def test_nothing_is_held_twice(run: tuple[Ordered, tuple[Event, ...]]) -> None:
    """No CPU and no device by two pods that are there, and no CPU of one in the shared pool (1.20 to 1.36)."""
    ordered, events = run
    for each in play_events(begun(ordered), events).happened:
        ledger = each.after.ledger
        taken = 0
        for cpus in exclusive(ledger):
            assert cpus & (taken | ledger.cpu.default) == 0
            taken |= cpus
        assert disjoint(list(devices_held(ledger).values()))


@given(runs(nodes(preferences=CALM)))
def test_every_pod_that_is_there_was_admitted_or_waits(run: tuple[Ordered, tuple[Event, ...]]) -> None:
    """Who is active had a yes at the last decision on him; whoever waits has had none, or crashed the kubelet."""
    ordered, events = run
    simulation = play_events(begun(ordered), events)
    verdict = {step.decision.pod.uid: step.decision for step in simulation.steps}
    for uid in simulation.after.active:
        assert verdict[uid].admitted or simulation.end.down
    for pod in simulation.undecided:
        assert simulation.end.down
        assert pod.uid not in verdict


@given(runs(EXACT))
def test_what_is_gone_is_free_after_clean_up(run: tuple[Ordered, tuple[Event, ...]]) -> None:
    """All pods go, the kubelet and all plugins come back as they were, stale state is removed: the node is as new."""
    ordered, events = run
    begin = begun(ordered)
    after = play_events(begin, events).end
    gone = RemovePods(tuple(pod for event in events if isinstance(event, AddPods) for pod in event.pods))
    back = [StartPlugin(name, own(ordered, name), again=True) for name in begin.plugins]
    for event in (gone, *back, *((StartKubelet(),) if after.down else ())):
        after = happen(after, event).situation
    if not after.down:
        assert holdings(cleaned(after.node, after.ledger)) == holdings(begin.ledger)


@given(runs(EXACT), st.sampled_from(PLUGINS))
def test_a_second_restart_changes_nothing(run: tuple[Ordered, tuple[Event, ...]], plugins: PluginsAt) -> None:
    """Nothing happens between the two: who was admitted at the first is admitted at the second, with the same."""
    ordered, events = run
    begin = play_events(begun(ordered), events).end
    first = happen(begin, RestartKubelet(Beginning(plugins)))
    second = happen(first.situation, RestartKubelet(Beginning(plugins)))
    if first.crash or first.situation.refused:
        return
    assert {step.decision.pod.uid for step in second.steps} == set(first.situation.ledger.active)
    assert all(step.decision.admitted for step in second.steps)
    assert exclusive(second.situation.ledger) == exclusive(first.situation.ledger)
    assert devices_held(second.situation.ledger) == devices_held(first.situation.ledger)


@given(runs(EXACT))
def test_a_reboot_gives_back_the_same_devices(run: tuple[Ordered, tuple[Event, ...]]) -> None:
    """To everybody who is admitted again, once the plugins have registered; CPUs too."""
    ordered, events = run
    begin = play_events(begun(ordered), events).end
    before, held = dict(zip(begin.ledger.active, exclusive(begin.ledger), strict=True)), devices_held(begin.ledger)
    after = happen(begin, RestartKubelet(Beginning("first", reboot=True)))
    if after.crash:
        return
    ledger = after.situation.ledger
    now = dict(zip(ledger.active, exclusive(ledger), strict=True))
    for uid, devices in devices_held(ledger).items():
        if uid in held:
            assert held[uid] <= devices
            assert before[uid] & ~now[uid] == 0


@given(runs(nodes(preferences=CALM), 12))
def test_a_history_is_the_same_from_its_lines(run: tuple[Ordered, tuple[Event, ...]]) -> None:
    ordered, events = run
    came = [pod for event in events if isinstance(event, AddPods) for pod in event.pods]
    text = "\n".join(map(line_of, events))
    again = read_events(text, "events", came)
    assert [replace(event, line="") for event in again] == list(events)
    begin = begun(ordered)
    assert play_events(begin, again).end == play_events(begin, events).end
