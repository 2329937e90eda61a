"""The numbers of a placement as lines for other tools."""

import shlex
from typing import Any

import pytest

from numafit.host.lease import Lease
from numafit.show.text.plan import TOOL_LINES, env_lines

SCOPE = "systemd-run --scope -p AllowedCPUs=0-3"


@pytest.mark.parametrize(
    ("fields", "numactl", "systemd"),
    [
        ({"mems": 0b10}, "--membind=1", f"{SCOPE} -p AllowedMemoryNodes=1 --"),
        ({"mems": 0b10, "bind": "prefer"}, "--preferred=1", f"{SCOPE} --"),
        ({"mems": 0b11, "bind": "prefer"}, "--preferred-many=0-1", f"{SCOPE} --"),
        ({"mems": 0b11, "bind": "interleave"}, "--interleave=0-1", f"{SCOPE} -- numactl --interleave=0-1"),
        ({"mems": 0b10, "limit_memory": 4096}, "--membind=1", f"{SCOPE} -p AllowedMemoryNodes=1 -p MemoryMax=4096 --"),
    ],
)
def test_each_tool_gets_its_own_line(fields: dict[str, Any], numactl: str, systemd: str) -> None:
    """A scope can force and limit memory; what is only preferred it leaves to the kernel."""
    lease = Lease("a", "", 0, "", 0.0, **fields)
    assert {name: line(0b1111, lease, ["./solver", "a b"]) for name, line in TOOL_LINES.items()} == {
        "numactl": f"numactl --physcpubind=0-3 {numactl} ./solver 'a b'",
        "systemd": f"{systemd} ./solver 'a b'",
    }


@pytest.mark.parametrize("value", ["", "a b", "it's", "$HOME", "{0},{1}", "line\nend"])
def test_a_shell_reads_the_variables_back(value: str) -> None:
    """Quoted so that nothing is expanded."""
    assert shlex.split(env_lines({"X": value})) == ["export", f"X={value}"]
