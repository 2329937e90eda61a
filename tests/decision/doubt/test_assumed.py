"""Notes of the machine: there if something is guessed and matters to the question, and only then."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.decision.doubt.assumed import assumed_notes, assumed_words
from numafit.machine.model import Machine
from numafit.machine.notes import CODES
from numafit.workload.pod import Pod
from tests.advice.stages import BOX, stage
from tests.decision.strategies import GPU, container, cpus, gpus, memory, pod, pods

EVERYTHING = tuple(CODES)
GUESSED = replace(
    BOX,
    devices=gpus(0, 0, 1, 1),
    numa_nodes=tuple(replace(node, distances=(10, 21)) for node in BOX.numa_nodes),
    assumed=EVERYTHING,
)
PINNED = pod("a", cpus("app", "2"))
SHARED = pod("a", container("app", {"cpu": "2", "memory": "1Gi"}, requests={"cpu": "1", "memory": "1Gi"}))
ON_NODES = pod("a", memory("app", "1Gi"))
EMPTY = pod("a", container("app"))

NO_TOPOLOGY = {"topology_manager_policy": "none"}
NO_MEMORY = {"memory_manager_policy": "None", "reserved_memory": ()}
NO_CPU = {"cpu_manager_policy": "none"}
UNCORE = {"cpu_manager_policy_options": {"prefer-align-cpus-by-uncorecache": "true"}}
CLOSEST = {"topology_manager_policy_options": {"prefer-closest-numa-nodes": "true"}}


@pytest.mark.parametrize(
    ("word", "asked", "changes", "matters"),
    [
        ("cpus", SHARED, {}, True),
        ("cpus", EMPTY, {}, False),
        ("core", PINNED, {}, True),
        ("core", PINNED, NO_CPU, False),
        ("core", SHARED, {}, False),
        ("core", ON_NODES, {}, False),
        ("socket", PINNED, {}, True),
        ("socket", SHARED, {}, False),
        ("numa", PINNED, NO_TOPOLOGY, True),
        ("numa", SHARED, {}, True),
        ("numa", SHARED, NO_TOPOLOGY, False),
        ("uncore_cache", PINNED, UNCORE, True),
        ("uncore_cache", SHARED, UNCORE, False),
        ("uncore_cache", PINNED, {}, False),
        ("distances", PINNED, CLOSEST, True),
        ("distances", PINNED, {}, False),
        ("memory", ON_NODES, {}, True),
        ("memory", SHARED, NO_MEMORY, True),
        ("memory", EMPTY, {}, False),
        ("hugepages", pod("a", container("app", {"hugepages-2Mi": "2Mi"})), {}, True),
        ("hugepages", PINNED, {}, False),
        ("device_numa", pod("a", container("app", {GPU: "1"})), {}, True),
        ("device_numa", pod("a", container("app", {GPU: "1"})), NO_TOPOLOGY, False),
        ("device_numa", PINNED, {}, False),
        ("links", pod("a", container("app", {GPU: "2"})), {}, True),
        ("links", pod("a", container("app", {GPU: "1"})), {}, False),
        ("links", pod("a", container("app", {GPU: "4"})), {}, False),
        ("moon", EMPTY, {}, True),
    ],
)
def test_a_guess_is_noted_where_it_matters(word: str, asked: Pod, changes: dict[str, object], matters: bool) -> None:
    machine = replace(GUESSED, assumed=(word,))
    on = stage(machine, **changes)
    assert assumed_words(on.node, [asked]) == ((word,) if matters else ())
    assert [note.code for note in assumed_notes(on.node, [asked])] == (
        [CODES.get(word, "machine-assumed")] if matters else []
    )


def test_the_memory_of_the_whole_machine_is_enough_where_no_numa_node_is_charged() -> None:
    machine = replace(GUESSED, memory=32 << 30, assumed=("memory",))
    assert assumed_words(stage(machine, **NO_MEMORY).node, [SHARED]) == ()
    assert assumed_words(stage(machine).node, [ON_NODES]) == ("memory",)


@settings(max_examples=50, deadline=None)
@given(pods("a"), st.sets(st.sampled_from(EVERYTHING)), st.sampled_from([{}, NO_CPU, NO_TOPOLOGY, NO_MEMORY, CLOSEST]))
def test_no_note_without_a_guess_and_each_word_for_itself(
    asked: Pod, words: set[str], changes: dict[str, object]
) -> None:
    """Whether a word matters does not depend on the others."""

    def found(machine: Machine) -> set[str]:
        return set(assumed_words(stage(machine, **changes).node, [asked]))

    alone = {word for word in words if found(replace(GUESSED, assumed=(word,)))}
    assert found(replace(GUESSED, assumed=tuple(sorted(words)))) == alone
    assert found(replace(GUESSED, assumed=())) == set()
