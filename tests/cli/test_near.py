"""A word that is nearly a known one gets the one that was probably meant."""

import pytest

from numafit.__main__ import main
from numafit.errors import meant_or_there, near_words

MEANT = {
    ("simluate", "pods"): "No such command 'simluate'. Did you mean 'simulate'?",
    ("Simulate", "pods"): "No such command 'Simulate'. Did you mean 'simulate'?",
    ("machine", "shwo"): "No such command 'shwo'. Did you mean 'show'?",
    ("show",): "No such command 'show'. Did you mean 'machine show'?",
    ("list",): "No such command 'list'. Did you mean 'machine list' or 'metrics list'?",
    ("docker", "rnu"): "No such command 'rnu'. Did you mean 'run'?",
    ("simulate", "--machin", "x"): "Did you mean '--machine'?",
    ("simulate", "-o", "tabel", "x"): "'tabel' is not one of 'table', 'wide', 'json', 'yaml'. Did you mean 'table'?",
    ("machine", "show", "--table", "cpu"): "Did you mean 'cpus'?",
    ("run", "--policy", "single", "x"): "Did you mean 'single-numa-node'?",
    ("simulate", "--machine", "DGX-H10", "x"): "(did you mean dgx-h100 or dgx-a100?)",
}


@pytest.mark.parametrize("words", MEANT, ids=" ".join)
def test_what_was_probably_meant_is_said(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """click words the options, and puts quotes around them from 8.3 on."""
    assert main(list(words)) == 2
    assert MEANT[words].replace("'--machine'", "--machine") in capsys.readouterr().err.replace(
        "'--machine'", "--machine"
    )


def test_a_word_like_no_other_gets_no_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["frobnicate"]) == 2
    assert capsys.readouterr().err.endswith("Error: No such command 'frobnicate'.\n")


def test_the_nearest_comes_first() -> None:
    """Then those that begin like it; three at most."""
    assert near_words("cpu", ["cpus", "gpu"]) == ["cpus", "gpu"]
    assert near_words("best", ["none", "best-effort", "restricted"]) == ["best-effort"]
    assert near_words("zzz", ["cpus", "gpu"]) == []


def test_a_name_that_is_not_there_gets_the_nearest_or_some() -> None:
    """A hundred pods are no sentence. The namespace may be left away."""
    pods = [f"default/pod-{number}" for number in range(100)]
    assert meant_or_there("default/pod-1x", pods).startswith("did you mean default/pod-1")
    assert meant_or_there("trian", ["default/train", "default/web"]) == "did you mean default/train?"
    assert meant_or_there("zzz", pods) == f"there are {', '.join(pods[:10])} and 90 more"
