"""The words for events."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.decision.history.event import (
    AddPods,
    Beginning,
    Event,
    ExitContainer,
    ForgetPlugin,
    ListCapacity,
    ListDevices,
    PluginsAt,
    Reconcile,
    RemovePods,
    ResizePod,
    RestartKubelet,
    StartKubelet,
    StartPlugin,
    StopKubelet,
    StopPlugin,
)
from numafit.decision.history.lines import WORDS, line_of, read_events
from numafit.errors import InputError
from numafit.machine.model import Device
from numafit.quantity import parse_quantity
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.workload.pod import Container, Pod

ONE, TWO = (Pod(name, name, (Container("app"),)) for name in ("one", "two"))
STATIC = Pod("static", "static", (Container("app"), Container("side")), static=True)
GPU = "lab.io/gpu"


def read(text: str, *pods: Pod) -> list[Event]:
    return [replace(event, line="") for event in read_events(text, "events", pods or (ONE, TWO))]


def test_an_event_stands_on_a_line_of_its_own() -> None:
    assert read("add one  # first\n\nremove default/one\nreconcile\nadd two\nrestart\n") == [
        AddPods((ONE,)),
        RemovePods((ONE,)),
        Reconcile(),
        AddPods((TWO,)),
        RestartKubelet(),
    ]


def test_a_mark_of_the_encoding_is_no_word() -> None:
    """Some editors write one before the first line."""
    assert read("\ufeffadd one\r\nadd two") == [AddPods((ONE,)), AddPods((TWO,))]


def test_pods_that_are_never_added_come_first() -> None:
    assert read("remove two\nadd one\n") == [AddPods((TWO,)), RemovePods((TWO,)), AddPods((ONE,))]


def test_every_word_of_a_run_is_read() -> None:
    """The words of the specification of a whole node, section 7."""
    text = """
        add one two
        stop
        remove two
        start plugins=late reboot
        devices lab.io/gpu g0@0,!g1@1,n1@2+3,g4
        plugin-start lab.io/gpu g0@0
        plugin-stop lab.io/gpu
        plugin-forget lab.io/gpu
        plugin-restart lab.io/gpu
        resize one app requests.cpu=4 limits.memory=128Mi
        exit one app
        exit one
        capacity nobody.io/thing=3
    """
    g0 = Device(GPU, "g0", (0,))
    listed = (g0, Device(GPU, "g1", (1,), healthy=False), Device(GPU, "n1", (2, 3)), Device(GPU, "g4"))
    assert read(text) == [
        AddPods((ONE, TWO)),
        StopKubelet(),
        RemovePods((TWO,)),
        StartKubelet(Beginning("late", reboot=True)),
        ListDevices(GPU, listed),
        StartPlugin(GPU, (g0,)),
        StopPlugin(GPU),
        ForgetPlugin(GPU),
        StartPlugin(GPU, (), again=True),
        ResizePod(ONE, "app", {"cpu": parse_quantity("4")}, {"memory": parse_quantity("128Mi")}),
        ExitContainer(ONE, "app"),
        ExitContainer(ONE, "app"),
        ListCapacity("nobody.io/thing", parse_quantity("3")),
    ]


def test_another_configuration_is_read_by_its_name() -> None:
    sources = ConfigSources(ConfigFile("other.yaml", ""))
    events = read_events("add one\nrestart config=other.yaml", "events", [ONE], config=lambda name: sources)
    assert events[1] == RestartKubelet(Beginning(config=sources), line="restart config=other.yaml")
    assert line_of(replace(events[1], line="")) == events[1].line


def test_a_pod_that_comes_again_has_a_uid_of_its_own() -> None:
    """The API server gives a new one; that of a static pod is made from its manifest."""
    text = "add one static\nremove one static\nadd one static\nremove one\nadd one"
    events = read(text, ONE, STATIC)
    uids = [pod.uid for event in events if isinstance(event, AddPods | RemovePods) for pod in event.pods]
    assert uids == ["one", "static", "one", "static", "one#2", "static", "one#2", "one#3"]


def test_a_static_pod_may_be_called_by_the_name_of_its_manifest() -> None:
    """Its kubelet has added the name of the node to it; the line is then that of the pod's full name."""
    pods = [replace(STATIC, uid=name, name=name) for name in ("etcd-node1", "etcd-2-node1")]
    events = read_events("add etcd default/etcd-2\nexit etcd app", "events", pods, node="Node1")
    assert events == [
        AddPods(tuple(pods), line="add etcd-node1 default/etcd-2-node1"),
        ExitContainer(pods[0], "app", line="exit etcd-node1 app"),
    ]
    with pytest.raises(InputError, match="there is no pod etcd"):
        read_events("add etcd", "events", pods)
    namesake = replace(pods[0], containers=(Container("etcd"),))
    assert read_events("add etcd\nexit etcd etcd", "events", [namesake], node="node1")[1] == ExitContainer(
        namesake, "etcd", line="exit etcd-node1 etcd"
    )
    with pytest.raises(InputError, match="there is no pod one"):
        read_events("add one", "events", [replace(ONE, name="one-node1")], node="node1")


@pytest.mark.parametrize(
    ("line", "cure"),
    [
        ("add", "write add POD [POD…]"),
        ("explode", f"there are {', '.join(WORDS)}"),
        ("restrat", "did you mean restart or start?"),
        ("restart now", "write restart [plugins=first|late|never] [config=FILE] [reboot]"),
        ("restart reboot reboot", "write restart [plugins=first|late|never] [config=FILE] [reboot]"),
        ("start plugins=late plugins=late", "write start [plugins=first|late|never] [config=FILE] [reboot]"),
        ("restart plugins=soon", "write restart [plugins=first|late|never] [config=FILE] [reboot]"),
        ("remove three", "there are one, two"),
        ("exit one side", "name one of app"),
        ("devices lab.io/gpu g0@x", "write it like devices lab.io/gpu g0@0,!g1@0,n0@1+2"),
        ("devices gpu g0@0", "write it like devices lab.io/gpu g0@0,!g1@0,n0@1+2"),
        ("resize one app cpu=4", "write resize POD CONTAINER requests.cpu=4 limits.memory=128Mi …"),
        ("resize one app requests.cpu=four", "write an amount like 4, 500m or 128Mi"),
        ("capacity nobody.io/thing", "write capacity RESOURCE=AMOUNT"),
        ("capacity nobody.io/thing=-1", "write an amount like 4, 500m or 128Mi"),
        ("capacity nobody.io/thing=1500m", "a resource of this kind has no parts"),
        ("plugin-start gpu g0@0", "write it like plugin-start lab.io/gpu g0@0,!g1@0,n0@1+2"),
        ("plugin-start lab.io/gpu g0@0 g1@0", "write plugin-start RESOURCE ID@NUMA,…"),
    ],
)
def test_a_line_that_is_no_event_is_named(line: str, cure: str) -> None:
    with pytest.raises(InputError) as caught:
        read(f"add one\n{line}\n")
    assert (caught.value.source, caught.value.line, caught.value.cure) == ("events", 2, cure)


def test_who_is_not_there_is_named_as_such() -> None:
    """Who was rejected is there until he is removed; nobody knows that before it is played, so it is no matter here."""
    assert read("remove one two\nremove two\nadd one")[1:3] == [
        RemovePods((TWO,), ("default/one",)),
        RemovePods((), ("default/two",)),
    ]


@pytest.mark.parametrize("line", ["add one", "remove one", "exit one", "resize one app limits.cpu=1"])
def test_a_name_of_two_pods_needs_its_namespace(line: str) -> None:
    others = [replace(ONE, uid=name, namespace=name) for name in ("team1", "team2")]
    with pytest.raises(InputError) as caught:
        read(line, *others)
    assert str(caught.value) == "events:1: one is team1/one or team2/one (write the namespace, too)"
    assert read("add team2/one", *others) == [AddPods((others[0],)), AddPods((others[1],))]


def test_a_pod_that_the_state_knows_by_its_uid_has_the_name_of_its_manifest() -> None:
    """It is there, may go by that name, and comes again as another one; of others only the UID is known."""
    pod = replace(ONE, uid="u1")
    held, other = (Pod(uid, uid, (Container("app"),)) for uid in ("u1", "u2"))
    events = read_events("remove one\nadd one", "events", [pod], [held, other])
    assert [replace(event, line="") for event in events] == [RemovePods((pod,)), AddPods((replace(pod, uid="u1#2"),))]
    with pytest.raises(InputError) as caught:
        read_events("remove three", "events", [pod], [held, other])
    assert caught.value.cure == "there are default/one, u2"


def test_a_second_one_of_a_name_knows_the_first() -> None:
    """Whether that one was admitted, and so keeps it out, nobody knows before it is played."""
    assert read("add one\nadd one two")[1] == AddPods((replace(ONE, uid="one#2"), TWO), {"one#2": "one"})


PLUGINS: tuple[PluginsAt, ...] = ("first", "late", "never")
beginnings = st.builds(Beginning, st.sampled_from(PLUGINS), reboot=st.booleans())
devices = st.lists(
    st.builds(Device, st.just(GPU), st.sampled_from("abc"), st.sampled_from([None, (0,), (1, 2)]), st.booleans()),
    max_size=3,
    unique_by=lambda device: device.id,
).map(tuple)
amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory"]), st.sampled_from(["1", "500m", "128Mi"]).map(parse_quantity)
)
events = st.one_of(
    st.just(Reconcile()),
    st.builds(RestartKubelet, beginnings),
    st.just(StopKubelet()),
    st.builds(StartKubelet, beginnings),
    st.builds(ListDevices, st.just(GPU), devices),
    st.builds(StartPlugin, st.just(GPU), devices, st.booleans()),
    st.just(StopPlugin(GPU)),
    st.just(ForgetPlugin(GPU)),
    st.builds(ResizePod, st.just(ONE), st.just("app"), amounts, amounts).filter(lambda own: own.requests or own.limits),
    st.just(ExitContainer(TWO, "app")),
    st.just(ListCapacity("nobody.io/thing", parse_quantity("3"))),
)


@given(st.lists(events))
def test_what_is_written_is_read_again(happens: list[Event]) -> None:
    gone = RemovePods((ONE, TWO))
    text = "\n".join(["add one two", *map(line_of, happens), line_of(gone)])
    assert read(text)[1:] == [*happens, gone]


def test_the_page_on_events_has_each_word() -> None:
    """In its table; and so has the page of the agent, which knows a file of events by them."""
    root = Path(__file__).resolve().parents[3]
    table = re.findall(r"^\| (`.*) \| .* \|$", (root / "docs" / "events.md").read_text(), re.MULTILINE)
    named = {word for cell in table for word in re.findall(r"`([a-z-]+)", cell)}
    assert WORDS.keys() <= named
    (words,) = re.findall(r"/\^\((.*)\)\(\\s\|\$\)/", (root / "page" / "src" / "what_if" / "dropped.ts").read_text())
    assert [word for word in WORDS if not re.fullmatch(words, word)] == []
