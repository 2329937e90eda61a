"""Several policies and rules played at once: one process for each, as many as there are cores. They can be stopped, and
go on later."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import product
from multiprocessing.sharedctypes import Synchronized
from types import FrameType

import msgspec

from numafit.cli.options.simulated import PlannedNodes, idle_states
from numafit.cli.terminal import progress_bar
from numafit.errors import InputError
from numafit.fleet.simulation.large import LargePod, large_pods
from numafit.fleet.simulation.outcome import RuleOutcome
from numafit.fleet.simulation.rules import PlacingRule, StockScheduler
from numafit.fleet.simulation.run import fleet_of, play_rule, possible
from numafit.fleet.simulation.saved import SavedRun
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

    @property
    def name(self) -> str:
        return f"{self.policy or '-'} {self.rule.name}"


class PlayedRule(msgspec.Struct, frozen=True):
    """Exactly one of both."""

    outcome: RuleOutcome | None = None
    saved: SavedRun | None = None


NOT_BEGUN = PlayedRule()


def plays_of(policies: Sequence[str], rules: Sequence[PlacingRule]) -> tuple[Play, ...]:
    return tuple(Play(policy, rule) for policy, rule in product(policies or ("",), rules))


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def play_one(
    playing: Playing,
    play: Play,
    done: Callable[[int], None],
    stopped: Callable[[], bool] = lambda: False,
    saved: SavedRun | None = None,
) -> PlayedRule:
    states = idle_states(playing.nodes, play.policy)
    kinds = tuple({state.key: state for state in states.values()}.values())
    memory = VerdictMemory()
    pods = tuple(possible(kinds, playing.pods, memory))
    impossible = len(playing.pods) - len(pods)
    done(impossible)
    large = playing.large or large_pods(kinds)
    try:
        found = play_rule(fleet_of(states), pods, play.rule, memory, large, done, playing.stock, stopped, saved)
    except (LookupError, ValueError) as error:
        if saved is None:
            raise
        said = f"what was kept of {play.name} does not suit: {error}"
        raise InputError(said, source="--continue", cure="remove the file to begin again") from error
    if isinstance(found, SavedRun):
        return PlayedRule(saved=found)
    return PlayedRule(msgspec.structs.replace(found, policy=play.policy, impossible=impossible))


def play_all(
    playing: Playing, plays: Sequence[Play], jobs: int, before: Mapping[str, PlayedRule]
) -> dict[str, PlayedRule]:
    """By name, in the order of the plays. `before`: what there is of them already. SIGINT and SIGTERM stop them: what
    each has come to is returned."""
    found = {play.name: before.get(play.name, NOT_BEGUN) for play in plays}
    left = [play for play in plays if found[play.name].outcome is None]
    with progress_bar(len(playing.pods) * len(left)) as bar, _stopping() as stop:
        if min(jobs, len(left)) <= 1:
            for play in left:
                if not stop.is_set():
                    found[play.name] = play_one(playing, play, bar.update, stop.is_set, found[play.name].saved)
            return found
        counter = multiprocessing.get_context().Value("Q", 0)
        with ProcessPoolExecutor(min(jobs, len(left)), initializer=_begin, initargs=(playing, counter, stop)) as pool:
            futures = {play.name: pool.submit(_play, play, found[play.name]) for play in left}
            try:
                for seen in _counted(list(futures.values()), counter):
                    bar.update(seen)
            except BaseException:
                stop.set()
                raise
            return found | {name: own.result() for name, own in futures.items()}


class _Stop:
    """An event that is set by signals, for all processes."""

    def __init__(self) -> None:
        self._event = multiprocessing.get_context().Event()

    def set(self) -> None:
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        self._event.set()


@contextmanager
def _stopping() -> Iterator[_Stop]:
    """Within it, the first signal stops what is played."""
    stop = _Stop()
    before = {number: signal.signal(number, stop.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _counted(futures: Sequence[Future[PlayedRule]], counter: "Synchronized[int]") -> Iterator[int]:
    """How many more pods have come, now and then, until all is done or something failed."""
    left, seen = set(futures), 0
    while left:
        finished, left = wait(left, LOOK_SECONDS, FIRST_COMPLETED)
        for own in finished:
            own.result()
        now = counter.value
        yield now - seen
        seen = now


_here: list[tuple[Playing, "Synchronized[int]", _Stop]] = []
"""In a process of the pool: what it plays."""


def _begin(playing: Playing, counter: "Synchronized[int]", stop: _Stop) -> None:
    # A terminal sends it to all of them; the first process tells the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _here[:] = [(playing, counter, stop)]


def _play(play: Play, before: PlayedRule) -> PlayedRule:
    playing, counter, stop = _here[0]
    if stop.is_set():
        return before

    def done(pods: int) -> None:
        with counter.get_lock():
            counter.value += pods

    return play_one(playing, play, done, stop.is_set, before.saved)
