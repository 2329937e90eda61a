"""A command run as it is, bound well and bound badly, in turns.

Well and badly differ in one thing: the node that memory is preferred from. The CPUs are the same. As it is means just
that: on whatever CPUs and memory the kernel gives. Nothing is held, and CPUs of leases are not bound to.
"""

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

from numafit.bits import cpuset_text, mask_of, members
from numafit.errors import InputError
from numafit.host.bind import kernel, mempolicy
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.measure.choice import free_memory
from numafit.host.measure.gain import AS_IT_IS, BADLY, WAYS, WELL, CommandMeasured, NearFar
from numafit.host.measure.result import Measured
from numafit.host.pool import pool_of
from numafit.host.wake.execute import execute, failure, restore_signals

_LAST_WORDS = 200
_GENTLE = 5.0
"""Seconds for a command to end when it is told to."""


class CommandFailed(InputError):
    """It did not end well, or could not be bound, so that its time says nothing. `status` is that of the command."""

    def __init__(self, message: str, status: int = 1, cure: str = "") -> None:
        super().__init__(message, cure=cure)
        self.status = status


def places_of(
    host: Host, leases: Sequence[Lease], *, own: str, node: int | None, count: int, measured: Measured | None
) -> NearFar | None:
    """None: one NUMA node has memory that may be used, so that there is nothing to compare. `count` CPUs are taken as
    whole cores; 0: all of the node."""
    usable = host.usable_cpus & pool_of(host, [lease for lease in leases if lease.id != own])
    cpus: dict[int, list[int]] = {}
    for cpu in sorted(host.machine.cpus, key=lambda cpu: (cpu.socket, cpu.core, cpu.id)):
        if usable >> cpu.id & 1 and host.memory_nodes >> cpu.numa & 1:
            cpus.setdefault(cpu.numa, []).append(cpu.id)
    if host.memory_nodes.bit_count() < 2:
        return None
    if not cpus:
        raise InputError("no CPU of a NUMA node with memory is free", cure="see numafit ps for who holds them")
    if node is None:
        near = max(cpus, key=lambda id: (len(cpus[id]), free_memory(id), -id))
    elif node in cpus:
        near = node
    else:
        known = ", ".join(map(str, sorted(cpus)))
        raise InputError(
            f"node {node} has no free CPUs with memory of their own", source="--node", cure=f"there is node {known}"
        )
    if count > len(cpus[near]):
        raise InputError(
            f"node {near} has {len(cpus[near])} CPUs that may be used", source="--cpus", cure="ask for fewer"
        )
    far, why = _far(host, near, measured)
    return NearFar(mask_of(cpus[near][: count or None]), near, far, why)


def _far(host: Host, near: int, measured: Measured | None) -> tuple[int, str]:
    """The slowest as it was measured, else the one with the largest distance; of equals the lowest."""
    others = [id for id in members(host.memory_nodes) if id != near]
    if measured is not None:
        times = {id: figure.middle for id in others if (figure := measured.pair(near, id).latency) is not None}
        if len(times) == len(others):
            return max(others, key=lambda id: (times[id], -id)), "slowest as measured"
    order = sorted(one.id for one in host.machine.numa_nodes)
    found = next((one.distances for one in host.machine.numa_nodes if one.id == near), None)
    if found is None or len(found) != len(order):
        return others[0], "another node; distances are not known"
    distances = dict(zip(order, found, strict=True))
    return max(others, key=lambda id: (distances[id], -id)), "farthest by the distance table"


class CommandTrial:
    """`run` once; `result` may be asked for at any time."""

    def __init__(self, command: Sequence[str], places: NearFar, rounds: int) -> None:
        self.command, self.places, self.rounds = command, places, rounds
        self.seconds: dict[str, list[float]] = {way: [] for way in WAYS}

    @property
    def steps(self) -> int:
        return self.rounds * len(WAYS) + 1

    def run(self, advance: Callable[[], None], log: IO[bytes]) -> None:
        """`log` takes what the command says on standard error, of which the last line is told when it fails."""
        # Not counted: it brings files into memory, and tells early whether the command works at all.
        self._once(AS_IT_IS, log)
        advance()
        for number in range(self.rounds):
            for place in range(len(WAYS)):
                way = WAYS[(number + place) % len(WAYS)]
                self.seconds[way].append(self._once(way, log))
                advance()

    def result(self) -> CommandMeasured:
        times = {way: tuple(own) for way, own in self.seconds.items()}
        whole = all(len(own) == self.rounds for own in times.values())
        return CommandMeasured(tuple(self.command), self.places, times, whole)

    def _once(self, way: str, log: IO[bytes]) -> float:
        target = {WELL: self.places.near, BADLY: self.places.far}.get(way)
        log.seek(0)
        log.truncate()
        status, seconds = timed(self.command, self.places.cpus, target, log.fileno())
        if status:
            log.seek(0)
            words = log.read().decode("utf-8", "replace").strip().splitlines()
            said = f": {words[-1][:_LAST_WORDS]}" if words else ""
            how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
            raise CommandFailed(f"{self.command[0]} {how} when run {way}{said}", status if status > 0 else 1)
        return seconds


def timed(command: Sequence[str], cpus: int, memory: int | None, errors: int) -> tuple[int, float]:
    """Exit status (below 0: a signal) and seconds from its start to its end; `memory` None: not bound at all.

    Standard input is empty and standard output goes nowhere: a terminal that scrolls would be measured, too.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        _become(command, cpus, memory, errors, writing)
    os.close(writing)
    try:
        with open(reading, "rb") as pipe:
            # It ends when the command has begun.
            refused = pipe.read().decode()
        begun = time.perf_counter()
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        seconds = time.perf_counter() - begun
    except BaseException:
        _end(pid)
        raise
    _, status = os.waitpid(pid, 0)
    if refused:
        code, _, words = refused.partition(" ")
        raise CommandFailed(words, int(code))
    return os.waitstatus_to_exitcode(status), seconds


def _become(command: Sequence[str], cpus: int, memory: int | None, errors: int, told: int) -> None:
    """In the new process; it does not come back."""
    status = 1
    try:
        # So that all of it can be ended, whatever it started.
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.dup2(errors, 2)
        if memory is not None:
            bind(cpus, memory)
        restore_signals()
        error = execute(command, os.environ)
        status, words = failure(command[0], error.errno or 0)
        os.write(told, f"{status} {words}".encode())
    except OSError as error:
        os.write(told, f"1 the command cannot be bound: {error}".encode())
    finally:
        os._exit(status)


def bind(cpus: int, memory: int) -> None:
    """The calling process, read back from the kernel. Raises `OSError`."""
    os.sched_setaffinity(0, members(cpus))
    if kernel.affinity() != cpus:
        raise OSError(f"the kernel gives CPUs {cpuset_text(kernel.affinity())} instead of {cpuset_text(cpus)}")
    wanted = kernel.MemoryPolicy(mempolicy.PREFERRED, 1 << memory)
    try:
        kernel.set_memory_policy(wanted.mode, wanted.nodes)
        found = kernel.get_memory_policy()
    except OSError as error:
        raise OSError(f"memory of node {memory}: {error.strerror}") from None
    if found != wanted:
        raise OSError(f"the kernel made the memory policy {found or 'the default'} of {wanted}")


def _end(pid: int) -> None:
    """The command and what it started, gently first. While it is not waited for, nobody else gets its number."""
    with suppress(OSError):
        os.killpg(pid, signal.SIGTERM)
        until = time.monotonic() + _GENTLE
        while time.monotonic() < until:
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                break
            time.sleep(0.01)
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
