"""The numbers of a placement as command lines of other tools, for people who want only those."""

from collections.abc import Callable, Mapping, Sequence
from shlex import join, quote

from numafit.machine.bits import cpuset_text


def numactl_line(cpus: int, mems: int, command: Sequence[str]) -> str:
    return join(["numactl", f"--physcpubind={cpuset_text(cpus)}", f"--membind={cpuset_text(mems)}", *command])


def systemd_line(cpus: int, mems: int, command: Sequence[str]) -> str:
    properties = ["-p", f"AllowedCPUs={cpuset_text(cpus)}", "-p", f"AllowedMemoryNodes={cpuset_text(mems)}"]
    return join(["systemd-run", "--scope", *properties, "--", *command])


def env_lines(variables: Mapping[str, str]) -> str:
    return "\n".join(f"export {name}={quote(value)}" for name, value in variables.items())


LINES: Mapping[str, Callable[[int, int, Sequence[str]], str]] = {"numactl": numactl_line, "systemd": systemd_line}
