"""Words of a command line and of environment files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.settings.read.arguments import Argument, arguments_of_env

FILE = """\
# kubelet arguments
; another comment

KUBELET_LOG_LEVEL=2
export KUBELET_ARGS="--cpu-manager-policy=static \\
  --kube-reserved cpu=1,memory=1Gi \\
  --eviction-hard='' --node-labels=\\"a=b c\\""
  KUBELET_EXTRA_ARGS=--max-pods=5 --enforce-node-allocatable=""
EMPTY=
QUIET='-v 2'
"""


def test_flags_are_collected_from_every_variable_with_their_lines() -> None:
    """Comments, export, quotes within quotes, continued lines; variables that hold no flags do not count."""
    assert arguments_of_env(FILE, "kubelet.env") == (
        Argument("--cpu-manager-policy=static", 5),
        Argument("--kube-reserved", 6),
        Argument("cpu=1,memory=1Gi", 6),
        Argument("--eviction-hard=", 7),
        Argument("--node-labels=a=b c", 7),
        Argument("--max-pods=5", 8),
        Argument("--enforce-node-allocatable=", 8),
        Argument("-v", 10),
        Argument("2", 10),
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\nKUBELET_ARGS\n", "kubelet.env:2: expected NAME=value"),
        ("A='--x\n\n", "kubelet.env:1: the quote ' is not closed"),
        ('\nA="--x=\\"y"\n', 'kubelet.env:2: the quote " is not closed'),
        ("1A=--x\n", "kubelet.env:1: expected NAME=value"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(text: str, place: str) -> None:
    """With its place."""
    with pytest.raises(InputError) as refused:
        arguments_of_env(text, "kubelet.env")
    assert str(refused.value).startswith(place)


@given(st.text())
def test_any_text_gives_words_or_a_clear_error(text: str) -> None:
    """Never anything else."""
    try:
        lines = [argument.line for argument in arguments_of_env(text, "kubelet.env")]
    except InputError as error:
        lines = [error.line]
    assert all(lines)


@given(st.lists(st.from_regex(r"--[a-z]{1,5}=[a-z0-9,<%.]{0,9}", fullmatch=True), max_size=5))
def test_flags_come_back_out_of_a_variable(words: list[str]) -> None:
    """In order."""
    found = arguments_of_env("ARGS=" + " ".join(words) + "\n", "")
    assert [argument.text for argument in found] == words
