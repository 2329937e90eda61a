"""Decisions that depend on a guess about the machine."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.decision.decision import Decision
from numafit.decision.doubt.assumed import assumed_words
from numafit.decision.doubt.unsure import MATTER_CODES, Unsure, _begin_on, _node_on, unsure_notes, unsure_steps
from numafit.decision.simulation import Simulation, play_events
from numafit.decision.stage import Stage
from numafit.machine.alternatives import alternatives
from numafit.machine.combine.machine import combine
from numafit.machine.convert.nrt import nrt_text
from numafit.machine.read.recognise import source_of
from numafit.notes import NOTE_CODES
from numafit.settings.settings import ReservedMemory
from numafit.workload.pod import Pod
from tests.advice.stages import ALL_ON, BOX, stage
from tests.decision.strategies import container, cpus, pod, pods
from tests.machine.test_notes import NUMACTL

MACHINE = combine([source_of(NUMACTL.replace("1000 MB", "16000 MB"), "numactl.txt")]).machine
"""Two NUMA nodes with the CPUs 0, 1, 4, 5 and 2, 3, 6, 7."""


def unsure_of(on: Stage, simulation: Simulation) -> dict[int, Unsure]:
    return unsure_steps(simulation)


def outcome(decision: Decision) -> tuple[object, ...]:
    return decision.admitted, decision.reason, decision.panic, decision.containers if decision.admitted else None


def test_from_numactl_alone_it_is_not_sure_which_cpus_a_pod_gets() -> None:
    """With SMT the kubelet would take whole cores."""
    on = stage(MACHINE)
    simulation = on.play([pod("a", cpus("app", "2")), pod("b", container("app", {"cpu": "100m"}))])
    found = unsure_of(on, simulation)
    assert {number: (own.words, own.verdict) for number, own in found.items()} == {0: (("core",), False)}
    other = found[0].other
    assert other is not None
    assert [cpuset_text(one.containers["app"].cpus or 0) for one in (simulation.steps[0].decision, other)] == [
        "1,4",
        "1,5",
    ]
    [note] = unsure_notes(simulation, found)
    assert (note.code, note.about) == ("cores-matter", "default/pod-a")
    assert note.text == "what it gets depends on a guess about the cores; give `lscpu -p` or /sys"


def test_a_pod_that_takes_a_whole_numa_node_is_sure() -> None:
    """Whichever threads belong together, all four CPUs of node 1 are taken."""
    on = stage(MACHINE)
    assert unsure_of(on, on.play([pod("a", cpus("app", "4"))])) == {}


def test_a_verdict_may_depend_on_the_cores() -> None:
    """Only a machine with SMT refuses an odd number of CPUs under full-pcpus-only."""
    reserved = {"reserved_system_cpus": "0,4", "kube_reserved": {"memory": "412Mi"}}
    on = stage(MACHINE, cpu_manager_policy_options={"full-pcpus-only": "true"}, **reserved)
    simulation = on.play([pod("a", cpus("app", "1"))])
    found = unsure_of(on, simulation)
    assert [own.verdict for own in found.values()] == [True]
    assert [note.text for note in unsure_notes(simulation, found)] == [
        "whether it is admitted depends on a guess about the cores; give `lscpu -p` or /sys"
    ]


ZONES = replace(combine([source_of(nrt_text(replace(BOX, name="zones")), "nrt.json")]).machine, memory=None)
"""The two NUMA nodes of BOX with 8 CPUs each, of which nobody tells the numbers."""


def test_made_up_numbers_of_cpus_are_no_guess_about_numa_nodes() -> None:
    """Four CPUs of one NUMA node, whatever their numbers: the note says what is made up and what is not."""
    on = stage(ZONES)
    asked = [pod("a", cpus("app", "4")), pod("b", container("app", {"cpu": "100m"}))]
    simulation = on.play(asked)
    assert [step.decision.admitted for step in simulation.steps] == [True, True]
    notes = [note for note in on.notes_on(simulation) if note.about.startswith("default/")]
    assert [(note.code, note.about) for note in notes] == [("cpu-numbers-made-up", "default/pod-a")]
    assert notes[0].text == (
        "the numbers of its CPUs are made up; how many it gets on which NUMA node does not depend on them"
    )
    told = on.notes_on(on.play(asked[1:]))
    assert not any("cpu-numbers" in note.code for note in told)


def test_numbers_of_cpus_matter_where_the_configuration_names_some() -> None:
    """`reservedSystemCPUs: 0-3` leaves 8 CPUs on node 1, or 6 on each, if the numbers go in turn."""
    on = stage(ZONES, reserved_system_cpus="0-3", kube_reserved={"memory": "412Mi"})
    simulation = on.play([pod("a", cpus("app", "8"))])
    assert simulation.steps[0].decision.admitted
    found = unsure_of(on, simulation)
    assert {number: (own.words, own.verdict) for number, own in found.items()} == {0: (("cpu_ids",), True)}
    [note] = unsure_notes(simulation, found)
    assert note.code == "cpu-numbers-matter"
    assert (
        note.text == "whether it is admitted depends on a guess about the numbers of the CPUs; give `lscpu -p` or /sys"
    )


def test_made_up_numbers_do_not_hide_a_guess_about_cores() -> None:
    """full-pcpus-only refuses an odd number of CPUs where cores have two threads."""
    on = stage(ZONES, cpu_manager_policy_options={"full-pcpus-only": "true"})
    simulation = on.play([pod("a", cpus("app", "3"))])
    codes = [note.code for note in unsure_notes(simulation, unsure_of(on, simulation))]
    assert codes == ["cores-matter", "cpu-numbers-made-up"]


def test_the_ids_of_devices_are_noted_for_who_gets_some() -> None:
    """And for nobody else."""
    on = stage(ZONES)
    gpu = pod("a", container("app", {"nvidia.com/gpu": "1"}))
    assert "device-ids-guessed" in {note.code for note in on.notes_about([gpu])}
    assert "device-ids-guessed" not in {note.code for note in on.notes_about([pod("b", cpus("app", "2"))])}


def test_a_verdict_may_depend_on_the_cores_where_reserved_cpus_are_not_shared() -> None:
    """strict-cpu-reservation keeps the reserved CPUs out of the shared pool; nobody holds them for that."""
    strict = {"full-pcpus-only": "true", "strict-cpu-reservation": "true"}
    reserved = {"reserved_system_cpus": "0,4", "kube_reserved": {"memory": "412Mi"}}
    on = stage(MACHINE, cpu_manager_policy_options=strict, **reserved)
    found = unsure_of(on, on.play([pod("a", cpus("app", "1"))]))
    assert [own.verdict for own in found.values()] == [True]


def test_the_shared_pool_is_that_of_the_other_machine() -> None:
    """Which CPUs are reserved depends on the cores, and strict-cpu-reservation leaves them out of the pool."""
    gates = {"cpu_manager_policy_options": {"strict-cpu-reservation": "true"}}
    on = stage(MACHINE, kube_reserved={"cpu": "2", "memory": "412Mi"}, **gates)
    simulation = on.play([pod("a", cpus("app", "2"))])
    for other in alternatives(MACHINE, ["core"]):
        node = _node_on(on.node, other.machine)
        assert node is not None
        begin = _begin_on(node, simulation)
        assert begin is not None
        assert begin.cpu.default == node.cpu.topology.cpus & ~node.cpu.reserved


def test_a_verdict_that_may_be_another_is_said_before_other_cpus() -> None:
    """With other NUMA nodes of the CPUs the pod gets others; with SMT, which is tried later, it is refused."""
    reserved = {"reserved_system_cpus": "0,4", "kube_reserved": {"memory": "412Mi"}}
    machine = replace(MACHINE, assumed=("numa", *MACHINE.assumed))
    on = stage(machine, cpu_manager_policy_options={"full-pcpus-only": "true"}, **reserved)
    simulation = on.play([pod("a", cpus("app", "3"))])
    assert [(own.words, own.verdict) for own in unsure_of(on, simulation).values()] == [(("core",), True)]


def test_what_is_told_is_not_doubted() -> None:
    on = stage(BOX)
    assert unsure_of(on, on.play([pod("a", cpus("app", "3"))])) == {}


def test_sockets_matter_where_cpus_are_aligned_by_them() -> None:
    """If both NUMA nodes were of one socket, CPUs of both would count as near."""
    machine = replace(BOX, assumed=("socket",), sockets=None)
    options = {"cpu_manager_policy_options": {"align-by-socket": "true"}}
    gates = {"feature_gates": {"CPUManagerPolicyAlphaOptions": True}}
    on = stage(machine, version="1.27", topology_manager_policy="restricted", **options, **gates)
    simulation = on.play([pod("a", cpus("app", "1")), pod("b", cpus("app", "7"))])
    assert {own.words for own in unsure_of(on, simulation).values()} == {("socket",)}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(["core", "socket", "uncore_cache", "distances"]), unique=True, min_size=1),
    st.lists(pods("x"), min_size=1, max_size=4),
    st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"]),
    st.sampled_from([{}, {"full-pcpus-only": "true"}, {"prefer-align-cpus-by-uncorecache": "true"}]),
)
def test_a_step_without_a_mark_is_the_same_on_every_alternative(
    words: list[str], asked: list[Pod], policy: str, options: dict[str, str]
) -> None:
    """And a marked one is another on at least one of them."""
    assumed = tuple(words)
    machine = replace(BOX, assumed=assumed, sockets=None if "socket" in words else BOX.sockets)
    reserved = (ReservedMemory(0, {"memory": ALL_ON.reserved_memory[0].limits["memory"]}),)
    on = stage(machine, topology_manager_policy=policy, cpu_manager_policy_options=options, reserved_memory=reserved)
    come = [replace(each, uid=f"uid-{i}", name=f"pod-{i}") for i, each in enumerate(asked)]
    simulation = on.play(come)
    found = unsure_of(on, simulation)
    matter = [word for word in assumed_words(on.node, come) if word in MATTER_CODES]
    differing = set()
    for other in alternatives(machine, matter):
        node = _node_on(on.node, other.machine)
        if node is None:
            continue
        played = play_events(replace(on.situation, node=node), simulation.events).steps
        for number, step in enumerate(simulation.steps):
            if number >= len(played) or outcome(played[number].decision) != outcome(step.decision):
                differing.add(number)
    assert set(found) == differing
    notes = unsure_notes(simulation, found)
    assert len(notes) == len(found)
    assert {note.code for note in notes} <= NOTE_CODES.keys()
