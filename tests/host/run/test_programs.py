"""Which programs a command line starts; `test_launcher.py` has what matters of it."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.host.run.programs import programs

PARTS = [
    "sh",
    "-c",
    "env",
    "eval",
    "X=1",
    "$(",
    ")",
    "(",
    "`",
    "'",
    '"',
    "\\",
    ";",
    "\n",
    "<<",
    "<",
    "[[",
    "]]",
    "${",
    "#",
    "a",
    " ",
]


def started(*command: str) -> list[list[str]]:
    return [list(words) for words in programs(command)]


def test_each_program_of_a_script_comes_with_its_own_words() -> None:
    script = "cd /work || exit; X=1 nice -n 5 make -j4 'a b' >out 2>&1 & exec env -i ./solver"
    assert started("timeout", "1h", "sh", "-c", script) == [
        ["cd", "/work"],
        ["exit"],
        ["make", "-j4", "a b"],
        ["./solver"],
    ]


def test_what_stands_in_a_command_is_started_as_well() -> None:
    assert started("sh", "-c", "a $(b c) `d`") == [["b", "c"], ["d"], ["a", "$(b c)", "`d`"]]


def test_a_plain_command_is_itself() -> None:
    assert started("make", "env", "X=1") == [["make", "env", "X=1"]]
    assert started("env") == []


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join) | st.text())
def test_whatever_the_script_is_there_is_an_answer(script: str) -> None:
    """A line that no shell would take must not keep a command from its start."""
    for words in programs(["sh", "-c", script]):
        assert words
