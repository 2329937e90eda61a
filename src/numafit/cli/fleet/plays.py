"""Several policies and rules played at once: one process for each, as many as there are cores."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import product
from multiprocessing.sharedctypes import Synchronized

import msgspec

from numafit.cli.options.simulated import PlannedNodes, idle_states
from numafit.cli.terminal import progress_bar
from numafit.fleet.simulation.large import LargePod, large_pods
from numafit.fleet.simulation.outcome import RuleOutcome
from numafit.fleet.simulation.rules import PlacingRule, StockScheduler
from numafit.fleet.simulation.run import fleet_of, play_rule, possible
from numafit.fleet.simulation.trace import TracePod
from numafit.fleet.verdicts import VerdictMemory

LOOK_SECONDS = 0.2
"""So often the bar is moved on."""


class Playing(msgspec.Struct, frozen=True):
    """What is the same for all of them."""

    nodes: PlannedNodes
    pods: tuple[TracePod, ...]
    large: tuple[LargePod, ...]
    stock: StockScheduler


class Play(msgspec.Struct, frozen=True):
    policy: str
    """Of the Topology Manager; empty: as each node has it."""
    rule: PlacingRule


def plays_of(policies: Sequence[str], rules: Sequence[PlacingRule]) -> tuple[Play, ...]:
    return tuple(Play(policy, rule) for policy, rule in product(policies or ("",), rules))


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def play_one(playing: Playing, play: Play, done: Callable[[int], None]) -> RuleOutcome:
    states = idle_states(playing.nodes, play.policy)
    kinds = tuple({state.key: state for state in states.values()}.values())
    memory = VerdictMemory()
    pods = tuple(possible(kinds, playing.pods, memory))
    impossible = len(playing.pods) - len(pods)
    done(impossible)
    large = playing.large or large_pods(kinds)
    found = play_rule(fleet_of(states), pods, play.rule, memory, large, done, playing.stock)
    return msgspec.structs.replace(found, policy=play.policy, impossible=impossible)


def play_all(playing: Playing, plays: Sequence[Play], jobs: int) -> list[RuleOutcome]:
    """In the order of the plays."""
    with progress_bar(len(playing.pods) * len(plays)) as bar:
        if min(jobs, len(plays)) <= 1:
            return [play_one(playing, play, bar.update) for play in plays]
        counter = multiprocessing.get_context().Value("Q", 0)
        with ProcessPoolExecutor(min(jobs, len(plays)), initializer=_begin, initargs=(playing, counter)) as pool:
            futures = [pool.submit(_play, play) for play in plays]
            try:
                for seen in _counted(futures, counter):
                    bar.update(seen)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            return [own.result() for own in futures]


def _counted(futures: Sequence[Future[RuleOutcome]], counter: "Synchronized[int]") -> Iterator[int]:
    """How many more pods have come, now and then, until all is done or something failed."""
    left, seen = set(futures), 0
    while left:
        finished, left = wait(left, LOOK_SECONDS, FIRST_COMPLETED)
        for own in finished:
            own.result()
        now = counter.value
        yield now - seen
        seen = now


_here: list[tuple[Playing, "Synchronized[int]"]] = []
"""In a process of the pool: what it plays."""


def _begin(playing: Playing, counter: "Synchronized[int]") -> None:
    _here[:] = [(playing, counter)]


def _play(play: Play) -> RuleOutcome:
    playing, counter = _here[0]

    def done(pods: int) -> None:
        with counter.get_lock():
            counter.value += pods

    return play_one(playing, play, done)
