"""The numbers of a placement as command lines of other tools, for people who want only those."""

from collections.abc import Callable, Mapping, Sequence
from shlex import join, quote

from numafit.machine.bits import cpuset_text

NVIDIA = "nvidia.com/gpu"

Numbers = tuple[int, int, Mapping[str, Sequence[str]], int]
"""CPUs, memory nodes, devices by resource, bytes of memory (0: not asked for)."""


def numactl_line(numbers: Numbers, command: Sequence[str]) -> str:
    cpus, mems, _, _ = numbers
    return join(["numactl", f"--physcpubind={cpuset_text(cpus)}", f"--membind={cpuset_text(mems)}", *command])


def docker_line(numbers: Numbers, command: Sequence[str]) -> str:
    """`command` is taken for the image and what follows it."""
    return join(["docker", "run", *docker_flags(numbers), *command])


def docker_flags(numbers: Numbers) -> list[str]:
    cpus, mems, devices, memory = numbers
    flags = [f"--cpuset-cpus={cpuset_text(cpus)}", f"--cpuset-mems={cpuset_text(mems)}"]
    if devices.get(NVIDIA):
        # Docker reads the value as a line of CSV, in which a list needs quotes of its own.
        flags += ["--gpus", f'"device={",".join(devices[NVIDIA])}"']
    if memory:
        flags.append(f"--memory={memory}")
    return flags


def systemd_line(numbers: Numbers, command: Sequence[str]) -> str:
    cpus, mems, _, _ = numbers
    properties = ["-p", f"AllowedCPUs={cpuset_text(cpus)}", "-p", f"AllowedMemoryNodes={cpuset_text(mems)}"]
    return join(["systemd-run", "--scope", *properties, "--", *command])


def env_lines(variables: Mapping[str, str]) -> str:
    return "\n".join(f"export {name}={quote(value)}" for name, value in variables.items())


LINES: Mapping[str, Callable[[Numbers, Sequence[str]], str]] = {
    "numactl": numactl_line,
    "docker": docker_line,
    "systemd": systemd_line,
}
