"""The numbers of a placement as lines for other tools."""

import shlex

import pytest

from numafit.show.text.plan import TOOL_LINES, env_lines


def test_each_tool_gets_its_own_line() -> None:
    command = ["./solver", "a b"]
    assert {name: line(0b1111, 0b10, command) for name, line in TOOL_LINES.items()} == {
        "numactl": "numactl --physcpubind=0-3 --membind=1 ./solver 'a b'",
        "systemd": "systemd-run --scope -p AllowedCPUs=0-3 -p AllowedMemoryNodes=1 -- ./solver 'a b'",
    }


@pytest.mark.parametrize("value", ["", "a b", "it's", "$HOME", "{0},{1}", "line\nend"])
def test_a_shell_reads_the_variables_back(value: str) -> None:
    """Quoted so that nothing is expanded."""
    assert shlex.split(env_lines({"X": value})) == ["export", f"X={value}"]
