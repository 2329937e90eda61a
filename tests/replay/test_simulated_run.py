"""Whole runs made here: written as a recording, which a replay reproduces."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.decision.history.event import AddPods, Beginning, RemovePods, RestartKubelet
from numafit.decision.history.situation import situation_of
from numafit.decision.simulation import play_events
from numafit.decision.start import Start, start
from numafit.managers.device.plugin import Plugin
from numafit.quantity import parse_quantity
from numafit.replay.replay import replay
from numafit.replay.simulated_run import run_case, sources_record
from numafit.settings.config import KubeletConfig
from numafit.settings.read.arguments import Argument
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.settings import ReservedMemory
from numafit.settings.versions import parse_version
from tests.decision.history.test_laws import happenings
from tests.decision.strategies import GI, GPU, Ordered, box, container, gpus, pod

MACHINE = replace(box(2, 8, 2, memory=8 * GI, devices=gpus(0, 0, 1, None)), memory=15 * GI)
CONFIG = KubeletConfig(
    cpu_manager_policy="static",
    memory_manager_policy="Static",
    topology_manager_policy="restricted",
    reserved_memory=(ReservedMemory(0, {"memory": parse_quantity("1Gi")}),),
    kube_reserved={"cpu": "1", "memory": "1Gi"},
    max_pods=3,
)
KNOWN = start(
    Start(version=parse_version("1.36.3"), config=CONFIG, machine=MACHINE, plugins={GPU: Plugin()}, active={})
)
BEGIN = situation_of(KNOWN.node, KNOWN.ledger, KNOWN.allocatable)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_recorded_run_replays(data: st.DataObject) -> None:
    """Any events; what the recording decides is what was simulated."""
    events = data.draw(happenings(Ordered(MACHINE, KNOWN.node.settings, {GPU: Plugin()}), 8))
    case, otherwise = run_case(play_events(BEGIN, events), CONFIG, "law")
    assert (otherwise, replay(case).verdict) == ((), "match")


def test_a_run_may_begin_with_pods_on_the_node() -> None:
    """They hold what they held; what the node offers beside its machine is told."""
    resident, late = pod("u1", container("app", requests={"cpu": "1"})), pod("u2", container("app"))
    there = play_events(BEGIN, [AddPods((resident,))]).end
    offered = {**(there.allocatable or {}), "ephemeral-storage": parse_quantity("5Gi")}
    simulation = play_events(replace(there, allocatable=offered), [AddPods((late,)), RemovePods((resident,))])
    case, otherwise = run_case(simulation, CONFIG, "resident")
    assert (otherwise, replay(case).verdict) == ((), "match")
    assert (case["input"]["residents"], case["input"]["allocatable"]) == (["u1"], {"ephemeral-storage": "5Gi"})
    assert [own["uid"] for own in case["input"]["pods"]] == ["u1", "u2"]


def test_a_pod_that_comes_again_stands_in_it_once() -> None:
    """Its second UID comes with the line."""
    first = pod("u1", container("app"))
    events = [AddPods((first,)), RemovePods((first,)), AddPods((replace(first, uid="u1#2"),))]
    case, otherwise = run_case(play_events(BEGIN, events), CONFIG, "again")
    assert (otherwise, [own["uid"] for own in case["input"]["pods"]]) == ((), ["u1"])
    assert [each["uid"] for event in case["expect"]["events"] for each in event["decisions"]] == ["u1", "u1#2"]


def test_the_configuration_of_a_restart_is_recorded_as_it_was_written() -> None:
    file = ConfigFile("/etc/other.yaml", "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n")
    sources = ConfigSources(file, (ConfigFile("/etc/d/1.conf", "{}"),), (Argument("--max-pods=2", 7),))
    assert sources_record(sources) == {
        "file": file.text,
        "dropIns": {"/etc/d/1.conf": "{}"},
        "arguments": ["--max-pods=2"],
    }
    event = RestartKubelet(Beginning(config=ConfigSources(file)), line="restart config=other.yaml")
    case, _ = run_case(play_events(BEGIN, [event]), CONFIG, "config")
    assert list(case["input"]["configs"]) == ["other.yaml"]
    assert replay(case).verdict == "match"


def test_state_files_are_told_where_they_changed() -> None:
    """At the first event all of them are."""
    wanted = pod("u1", container("app", requests={"cpu": "1"}))
    case, _ = run_case(play_events(BEGIN, [AddPods((wanted,)), RemovePods((wanted,))]), CONFIG, "files")
    assert [sorted(event["files"]) for event in case["expect"]["events"]][1] == []
    assert "cpu_manager_state" in case["expect"]["events"][0]["files"]
