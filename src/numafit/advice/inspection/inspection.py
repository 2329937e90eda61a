"""Every mistake of a kubelet, where it stops at the first, and what could not be checked for them."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from numafit.advice.inspection.checks import DROP_IN, MACHINE, SHARE, Doubts, Unchecked, doubtful, said, unchecked
from numafit.advice.inspection.config import amended
from numafit.advice.inspection.sources import readable, without_file, without_flag
from numafit.decision.start import NAMES, UNKNOWN, Examination, Start, StartRefusal, examined
from numafit.document import Path, field_text
from numafit.errors import InputError, KubeletError, StartError
from numafit.machine.model import Machine
from numafit.settings.config import KubeletConfig
from numafit.settings.eviction import MEMORY_AVAILABLE
from numafit.settings.read.flags import FLAGS_STAGE, FlagError
from numafit.settings.versions import behaviour_of

READING = ("flags", "file", "merged")
"""The steps that read what was written; later ones look at what was read."""
SETTLED = (*READING, "gates", "valid")
"""Steps whose refusals are all known before a machine is looked at."""
MOST_ROUNDS = 300
"""Each round takes at least one value out; nobody wrote so many wrong ones."""


class Mistake(NamedTuple):
    """One refusal by itself."""

    step: str
    stage: str
    """The kubelet's constructor or start call that fails."""
    text: str
    """The kubelet's words, or those of numafit for a file that it cannot read."""
    problem: KubeletError | InputError


class Inspection(msgspec.Struct, frozen=True):
    known: Start
    """As far as what was written stands; what could not be read is left out of it."""
    amended: Start
    """With every mistake put right or left out."""
    mistakes: tuple[Mistake, ...] = ()
    """In the order in which the kubelet would meet them, each after the cure of those before."""
    unchecked: tuple[Unchecked, ...] = ()
    doubts: Doubts = {}
    """The values that nobody can believe."""
    limit: InputError | None = None
    """What only numafit refuses, and what it ended at."""

    @property
    def read(self) -> bool:
        """Nothing had to be left out to read what was written."""
        return self.limit is None and all(mistake.step not in READING for mistake in self.mistakes)


def inspected(known: Start, stand_in: Callable[[KubeletConfig], Machine | None] | None = None) -> Inspection:
    """`stand_in`: makes a machine for checks that need one, but nothing of it, where none is known."""
    walk = _Walk()
    known = walk.read(known)
    first, last = walk.start(known, stand_in)
    doubts = walk.doubts
    config = first.known.config
    missing: tuple[Unchecked, ...] = ()
    if config is not UNKNOWN:
        codes = [mistake.problem.code for mistake in walk.mistakes if isinstance(mistake.problem, KubeletError)]
        missing = unchecked(config, doubts, codes, known.files, machine=known.machine is not UNKNOWN)
    mistakes = sorted(walk.mistakes, key=lambda mistake: NAMES.index(mistake.step))
    return Inspection(first.known, last.known, tuple(mistakes), missing, doubts, walk.limit)


class _Walk:
    """What was found so far."""

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []
        self.seen: set[tuple[str, str, Path]] = set()
        self.doubts: dict[Path, str] = {}
        self.limit: InputError | None = None

    def read(self, known: Start) -> Start:
        """With sources from which everything can be read."""
        for _ in range(MOST_ROUNDS):
            if known.sources is UNKNOWN:
                break
            refusal = next((each for each in examined(known).refusals if each.step in READING), None)
            if refusal is None:
                break
            sources = known.sources
            if isinstance(refusal.error, FlagError):
                self._add(_flag_mistake(refusal.error))
                sources = without_flag(sources, refusal.error)
            elif isinstance(refusal.error, InputError):
                patches = [patch.name for patch in sources.drop_ins or ()]
                if refusal.error.source not in patches or behaviour_of(known.version).drop_ins == "none":
                    self.limit = refusal.error
                    break
                self._add(Mistake(refusal.step, "", refusal.error.message, refusal.error))
                sources = without_file(sources, refusal.error.source)
                self.doubts[*DROP_IN, refusal.error.source] = refusal.error.source
            else:
                for mistake in _mistakes(refusal.step, refusal.error):
                    self._add(mistake)
                for problem in refusal.error.problems:
                    sources, doubt = readable(sources, problem, refusal.step, known.version)
                    if doubt is not None:
                        self.doubts[doubt] = problem.facts.get("file") or said(doubt) or "the file"
            if sources == known.sources:
                self.limit = InputError("cannot be read any further", source=str(refusal.step))
                break
            known = replace(known, sources=sources)
        return known

    def start(
        self, known: Start, stand_in: Callable[[KubeletConfig], Machine | None] | None
    ) -> tuple[Examination, Examination]:
        """The examination of what was written, and of what is put right."""
        first = self._examined(known, stand_in)
        current = first
        for _ in range(MOST_ROUNDS):
            config = current.known.config
            before = tuple(self.doubts)
            changed = config
            for refusal in current.refusals:
                if isinstance(refusal.error, InputError):
                    self.limit = self.limit or refusal.error
                    continue
                changed = self._taken(refusal, refusal.error, changed, before)
            if config is UNKNOWN or changed == config:
                break
            current = self._examined(_anew(known, changed), stand_in)
        return first, current

    def _examined(self, known: Start, stand_in: Callable[[KubeletConfig], Machine | None] | None) -> Examination:
        if known.machine is not UNKNOWN or stand_in is None:
            return examined(known)
        config = examined(known).known.config
        machine = None if config is UNKNOWN else stand_in(config)
        if machine is None:
            return examined(known)
        if config.eviction_hard.get(MEMORY_AVAILABLE, "").endswith("%"):
            self.doubts.setdefault(SHARE, field_text(MACHINE))
        return examined(replace(known, machine=machine), {"allocatable"})

    def _taken(
        self, refusal: StartRefusal, error: StartError, config: KubeletConfig, before: tuple[Path, ...]
    ) -> KubeletConfig:
        """Each problem of one refusal; gives the configuration to go on with."""
        for mistake in _mistakes(refusal.step, error):
            problem = mistake.problem
            if isinstance(problem, KubeletError) and not doubtful(problem, before):
                self._add(mistake)
        for problem in () if config is UNKNOWN else error.problems:
            config, doubts = amended(config, problem)
            for doubt in doubts:
                self.doubts.setdefault(doubt, said(doubt))
        return config

    def _add(self, mistake: Mistake) -> None:
        """Managers say the same again in each round, and with other amounts; before them nothing is said twice."""
        problem = mistake.problem
        key: tuple[str, str, Path] = (mistake.step, mistake.text, ())
        if mistake.step not in SETTLED and isinstance(problem, KubeletError):
            key = (mistake.step, problem.code, problem.field)
        if key not in self.seen:
            self.seen.add(key)
            self.mistakes.append(mistake)


def _anew(known: Start, config: KubeletConfig) -> Start:
    """The same kubelet with another configuration."""
    return Start(
        version=known.version,
        machine=known.machine,
        files=known.files,
        containers=known.containers,
        choices=known.choices,
        facts=known.facts,
        config=config,
        active=known.active,
    )


def _mistakes(step: str, error: StartError) -> list[Mistake]:
    """A refusal that lists several problems is several mistakes, each in its own words."""
    if len(error.problems) == 1:
        return [Mistake(step, error.stage, error.message, error.problems[0])]
    alone = {problem.message: problem for problem in error.problems}
    return [Mistake(step, error.stage, message, problem) for message, problem in alone.items()]


def _flag_mistake(error: FlagError) -> Mistake:
    name = error.argument.text.partition("=")[0]
    if not name.startswith("--"):
        return Mistake("flags", FLAGS_STAGE, error.message, error)
    return Mistake("flags", FLAGS_STAGE, f"failed to parse kubelet flag: unknown flag: {name}", error)
