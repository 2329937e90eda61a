"""A whole survey, on the machine that runs the tests: small, so that only its order and its words are tested."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from numafit.host.measure import survey
from numafit.host.measure.choice import Choice, ChosenNode
from numafit.host.measure.code import Functions, functions
from numafit.host.measure.pages import NodeMemory
from numafit.host.measure.survey import MachineSurvey, busy_nodes
from numafit.machine.model import Device

CPUS = tuple(sorted(os.sched_getaffinity(0)))[:2]
SIZE = 1 << 20
HERE = Choice((ChosenNode(0, CPUS, True),), SIZE, SIZE, (), (), ())


@contextmanager
def surveyed(choice: Choice = HERE, rounds: int = 2) -> Iterator[MachineSurvey]:
    made = MachineSurvey(choice, "digest", rounds)
    try:
        yield made
    finally:
        made.close()


def test_every_pair_has_as_many_rounds_as_were_asked_for() -> None:
    steps: list[None] = []
    with surveyed() as made:
        made.run(lambda: steps.append(None))
        found = made.result()
    assert len(steps) == made.steps == 1 + 2
    (pair,) = found.pairs
    assert pair.bandwidth is not None
    assert pair.bandwidth.rounds == 2
    assert (pair.latency is not None) == isinstance(functions(), Functions)
    assert (found.machine, found.whole, found.memories, found.callers) == ("digest", True, [0], [0])


def test_memory_that_was_moved_meanwhile_has_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel moves pages to those who read them, where it balances NUMA nodes by itself."""
    with surveyed() as made:
        monkeypatch.setattr(made, "_fill", lambda _: filled(made, monkeypatch))
        made.run(lambda: None)
        found = made.result()
    assert (found.pairs, found.memories) == ((), [])
    assert "the memory of node 0 took no part: the kernel moved pages of it meanwhile" in found.notes


def filled(made: MachineSurvey, monkeypatch: pytest.MonkeyPatch) -> None:
    MachineSurvey._fill(made, lambda: None)
    monkeypatch.setattr(NodeMemory, "places", lambda _: ({0: 255, 1: 1}, "move_pages"))


def test_without_machine_code_the_bandwidth_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "functions", lambda: "no code for vax, only for x86_64")
    with surveyed() as made:
        made.run(lambda: None)
        found = made.result()
    assert [(pair.bandwidth is not None, pair.latency) for pair in found.pairs] == [(True, None)]
    assert found.notes[0] == "no latency: no code for vax, only for x86_64"


def test_gpus_without_a_driver_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> survey.Cuda:
        raise survey.CudaError("libcuda.so.1 cannot be loaded")

    monkeypatch.setattr(survey, "Cuda", missing)
    gpu = Device("nvidia.com/gpu", "GPU-1", kind="gpu", label="GPU0", bus="0000:3b:00.0")
    with surveyed(Choice(HERE.nodes, SIZE, SIZE, (), (gpu,), ())) as made:
        made.run(lambda: None)
        found = made.result()
    assert (found.gpus, found.whole) == ((), True)
    assert "no copies to a GPU: libcuda.so.1 cannot be loaded" in found.notes


def test_cpus_that_others_use_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU 0 works half of the time, CPU 1 not at all; waiting for a disk is no work."""
    looks = iter(("cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n", "cpu0 50 0 0 50 0 0 0 0\ncpu1 0 0 0 50 50 0 0 0\n"))

    class Stat:
        def __truediv__(self, _: str) -> "Stat":
            return self

        def read_text(self) -> str:
            return "cpu 1 2 3\n" + next(looks) + "intr 5\n"

    monkeypatch.setattr(survey, "PROC", Stat())
    nodes = [ChosenNode(0, (0,), True), ChosenNode(1, (1,), True)]
    assert list(busy_nodes(nodes)) == ["CPUs of node 0 were 50% busy with other work when it began"]
