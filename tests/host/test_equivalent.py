"""The numbers of a placement as lines for other tools."""

import shlex

import pytest

from numafit.host.equivalent import LINES, docker_flags, env_lines

NUMBERS = (0b1111, 0b10, {"nvidia.com/gpu": ("GPU-a", "GPU-b")}, 1 << 30)


def test_each_tool_gets_its_own_line() -> None:
    command = ["./solver", "a b"]
    assert {name: line(NUMBERS, command) for name, line in LINES.items()} == {
        "numactl": "numactl --physcpubind=0-3 --membind=1 ./solver 'a b'",
        "docker": (
            "docker run --cpuset-cpus=0-3 --cpuset-mems=1 --gpus '\"device=GPU-a,GPU-b\"' --memory=1073741824 "
            "./solver 'a b'"
        ),
        "systemd": "systemd-run --scope -p AllowedCPUs=0-3 -p AllowedMemoryNodes=1 -- ./solver 'a b'",
    }


def test_what_was_not_asked_for_is_not_in_the_flags() -> None:
    assert docker_flags((0b1, 0b1, {}, 0)) == ["--cpuset-cpus=0", "--cpuset-mems=0"]


@pytest.mark.parametrize("value", ["", "a b", "it's", "$HOME", "{0},{1}", "line\nend"])
def test_a_shell_reads_the_variables_back(value: str) -> None:
    """Quoted so that nothing is expanded."""
    assert shlex.split(env_lines({"X": value})) == ["export", f"X={value}"]
