"""Several policies and rules played at once: one process for each, as many as there are cores. They can be stopped, and
go on later."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import product
from multiprocessing.sharedctypes import Synchronized
from types import FrameType
from typing import TYPE_CHECKING

import msgspec

from numafit.cli.terminal import progress_bar
from numafit.cluster.plan.change import FleetChange, changed_nodes, changed_pods
from numafit.cluster.plan.planned import PlannedNodes, idle_states
from numafit.cluster.plan.sized import sized
from numafit.errors import InputError
from numafit.fleet.simulation.large import LargePod, large_pods
from numafit.fleet.simulation.outcome import LIMIT, RuleOutcome
from numafit.fleet.simulation.rules import PlacingRule, StockScheduler
from numafit.fleet.simulation.run import fleet_of, play_rule, possible
from numafit.fleet.simulation.saved import SavedRun
from numafit.fleet.simulation.trace import TracePod
from numafit.fleet.verdicts import VerdictMemory

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, whoever ends a process in peace, a terminal that is closed."""
LOOK_SECONDS = 0.2
"""So often the bar is moved on."""


class Playing(msgspec.Struct, frozen=True):
    """What is the same for all of them."""

    nodes: PlannedNodes
    pods: tuple[TracePod, ...]
    large: tuple[LargePod, ...]
    stock: StockScheduler
    limit: float = LIMIT
    """Seconds that a pod may wait."""


class Play(msgspec.Struct, frozen=True):
    policy: str
    """Of the Topology Manager; empty: as each node has it."""
    rule: PlacingRule
    change: FleetChange | None = None
    """The fleet is changed so before."""
    nodes: int | None = None
    """So many nodes; None: as many as there are."""
    kind: str = ""
    """Of the kind of this name; empty: of all kinds by their shares."""

    @property
    def name(self) -> str:
        own = f"{self.policy or '-'} {self.rule.name}"
        if self.change is not None:
            own += f" {self.change.name}"
        return own if self.nodes is None else f"{own} {self.nodes} nodes {self.kind}".rstrip()


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
    nodes, wanted = playing.nodes, playing.pods
    if play.change is not None:
        nodes, wanted = changed_nodes(nodes, play.change), changed_pods(wanted, play.change)
    if play.nodes is not None:
        nodes = sized(nodes, play.nodes, play.kind)
    states = idle_states(nodes, play.policy)
    kinds = tuple({state.key: state for state in states.values()}.values())
    memory = VerdictMemory()
    pods = tuple(possible(kinds, wanted, memory))
    impossible = len(wanted) - len(pods)
    done(impossible)
    large = playing.large or large_pods(kinds)
    try:
        found = play_rule(
            fleet_of(states), pods, play.rule, memory, large, done, playing.stock, stopped, saved, playing.limit
        )
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
    """By name, in the order of the plays. `before`: what there is of them already. `SIGNALS` stop them: what
    each has come to is returned."""
    with playing_with(playing, jobs, before) as player:
        return player.play(plays)


class Player:
    """Plays again and again, whatever is wanted next, with the same processes and one bar."""

    def __init__(
        self, playing: Playing, jobs: int, before: Mapping[str, PlayedRule], bar: "ProgressBar[int]", stop: "_Stop"
    ) -> None:
        self.playing, self.jobs, self.bar, self.stop = playing, jobs, bar, stop
        self.found = dict(before)
        """All that was played, by name."""
        self._counter = multiprocessing.get_context().Value("Q", 0)
        self._pool: ProcessPoolExecutor | None = None

    def play(self, plays: Sequence[Play], later: int = 0) -> dict[str, PlayedRule]:
        """By name, in the order of the plays; those that were played before are not played again. `later`: so many more
        are to be expected, for the bar. After a signal what each has come to is returned."""
        left = [play for play in plays if self._of(play).outcome is None]
        self.bar.length = self.bar.pos + len(self.playing.pods) * (len(left) + later)
        self.bar.finished = False
        if min(self.jobs, len(left)) <= 1 and self._pool is None:
            for play in left:
                if not self.stop.is_set():
                    saved = self._of(play).saved
                    self.found[play.name] = play_one(self.playing, play, self.bar.update, self.stop.is_set, saved)
        else:
            self._together(left)
        return {play.name: self._of(play) for play in plays}

    def _of(self, play: Play) -> PlayedRule:
        return self.found.get(play.name, NOT_BEGUN)

    def _together(self, left: Sequence[Play]) -> None:
        if self._pool is None:
            begun = (self.playing, self._counter, self.stop)
            self._pool = ProcessPoolExecutor(self.jobs, initializer=_begin, initargs=begun)
        futures = {play.name: self._pool.submit(_play, play, self._of(play)) for play in left}
        try:
            for seen in _counted(list(futures.values()), self._counter):
                self.bar.update(seen)
        except BrokenProcessPool:
            # They heed no other signal, and the pool waits for them.
            for own in multiprocessing.active_children():
                own.kill()
            if not self.stop.is_set():
                cure = "with fewer of them less memory is needed"
                raise InputError("one of the processes was killed", source="--jobs", cure=cure) from None
        except BaseException:
            self.stop.set()
            raise
        self.found |= {name: own.result() for name, own in futures.items() if own.done() and own.exception() is None}

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()


@contextmanager
def playing_with(playing: Playing, jobs: int, before: Mapping[str, PlayedRule]) -> Iterator[Player]:
    """`before`: what there is already. Within it `SIGNALS` stop what is played."""
    with progress_bar(1) as bar, _stopping() as stop:
        player = Player(playing, jobs, before, bar, stop)
        try:
            yield player
        finally:
            player.close()


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
    before = {number: signal.signal(number, stop.handle) for number in SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _counted(futures: Sequence[Future[PlayedRule]], counter: "Synchronized[int]") -> Iterator[int]:
    """How many more pods have come, now and then, until all is done or something failed."""
    left, seen = set(futures), counter.value
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
    # Terminals, `timeout` and systemd send them to all of a group; the first process tells the others.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    _here[:] = [(playing, counter, stop)]


def _play(play: Play, before: PlayedRule) -> PlayedRule:
    playing, counter, stop = _here[0]
    if stop.is_set():
        return before

    def done(pods: int) -> None:
        with counter.get_lock():
            counter.value += pods

    return play_one(playing, play, done, stop.is_set, before.saved)
