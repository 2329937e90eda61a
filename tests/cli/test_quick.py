"""`numafit run` without click: what is taken means what click takes it for, and the rest is click's."""

import inspect

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.cli import quick
from numafit.cli.host.run import run
from numafit.cli.quick import parameters, quick_job

PLANNING = {"dry_run": False, "line": None, "specs": (), "output": "text"}
"""What only click reads, and its defaults."""

OPTIONS = sorted({name for parameter in run.params if isinstance(parameter, click.Option) for name in parameter.opts})
VALUES = (
    *(
        "0",
        "1",
        "007",
        "16",
        "4096",
        "4097",
        "999999",
        "1000000",
        "-1",
        "+1",
        " 1",
        "1_0",
        "x",
        "",
        "-",
        "--",
        "\u0663",
    ),
    *("32Gi", "5m", "0,2", "example.com/fpga=1", "best-effort", "restricted", "BEST-EFFORT", "full-cores", "bind"),
    *("interleave", "a b", "sleep", "-c", "\udcff"),
)


def by_click(words: list[str]) -> dict[str, object] | None:
    """None: it refuses them, or does something else than running a job."""
    try:
        with run.make_context("run", list(words)) as context:
            found = dict(context.params)
    except (click.ClickException, click.exceptions.Exit):
        return None
    return found


def words_of_a_line() -> st.SearchStrategy[list[str]]:
    """Options with values that fit and others, in both ways of writing, and whatever else."""
    option, value = st.sampled_from(OPTIONS), st.sampled_from(VALUES)
    piece = st.one_of(
        option.map(lambda name: [name]),
        st.tuples(option, value).map(list),
        st.tuples(option, value).map(lambda pair: [f"{pair[0]}={pair[1]}"]),
        value.map(lambda word: [word]),
        st.just(["--"]),
    )
    return st.lists(piece, max_size=6).map(lambda pieces: [word for piece in pieces for word in piece])


@given(words_of_a_line())
def test_what_is_taken_means_what_click_takes_it_for(words: list[str]) -> None:
    """Same names, same values, same types; and click refuses none of it."""
    found = parameters(words)
    if found is not None:
        expected = by_click(words)
        assert expected is not None
        assert {**found, **PLANNING} == expected
        assert {name: type(value) for name, value in found.items()} == {
            name: type(value) for name, value in expected.items() if name not in PLANNING
        }


@pytest.mark.parametrize(
    "line",
    [
        "-- true",
        "true",
        "sleep -- 5",
        "--cpus 8 --memory 32Gi --gpus 2 -- python train.py",
        "--cpus=4 --policy=single-numa-node --wait=10m -- make -j4",
        "--cpus 8 --time 8h --grace 2m -- ./solver",
        "--shared -- ./notebook.sh",
        "--cpus 8 --omp -- ./openmp-solver",
        "--gpus 8 --ranks 8 --cpus-per-rank 4 -- torchrun train.py",
        "-q --device example.com/fpga=1 --device example.com/nic=1 --wait -- true",
        "--wait --cpus 2 --prefer full-cores --prefer socket --priority 3 --name me true",
        "--memory-bind bind --interleave --node 0,2 --limit-memory 1Gi --threads --like-kubelet --cpus-per-gpu 2 x",
        "--strict --no-env --explain --quiet -- x",
    ],
)
def test_the_usual_lines_are_taken(line: str) -> None:
    found = parameters(line.split())
    assert found is not None
    assert {**found, **PLANNING} == by_click(line.split())


@pytest.mark.parametrize(
    "line",
    [
        *("--help", "--dry-run -- x", "--print numactl x", "--machine laptop x", "-o json x", "--state-dir /tmp x"),
        *("--cpus x", "--cpus", "--cpu 1 x", "-qq x", "--wait 5m x", "--policy BEST-EFFORT x", "--shared=1 x"),
        *("--ranks 4097 x", "--priority -1 x", "- x", "--memory= x"),
    ],
)
def test_the_unusual_and_the_wrong_are_left_to_click(line: str) -> None:
    assert parameters(line.split(" ")) is None


def test_every_parameter_has_its_place() -> None:
    """A new option of `run` must be known here, if only by its default."""
    found = parameters(["x"])
    assert found is not None
    assert {*found, *PLANNING} == {parameter.name for parameter in run.params if parameter.name != "help"}
    assert set(found) == {*inspect.signature(quick.lease_asked).parameters, *quick.JOB, "command"}


def test_a_shell_that_asks_for_completions_is_answered_by_click(monkeypatch: pytest.MonkeyPatch) -> None:
    assert quick_job(["--", "true"]) is not None
    monkeypatch.setenv("_NUMAFIT_COMPLETE", "bash_complete")
    assert quick_job(["--", "true"]) is None
