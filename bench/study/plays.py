"""What is played: lines of `numafit fleet simulate`, and what came of each policy and rule in them."""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import NamedTuple

import msgspec

from numafit.fleet.simulation.outcome import RuleOutcome
from numafit.fleet.simulation.rules import RULES
from numafit.fleet.simulation.trace import SERVICE, SERVICE_OWNER
from numafit.show.records.fleet_run import FleetRunAnswer

TENTH = 10
ALL = tuple(rule.name for rule in RULES)


class Play(NamedTuple):
    """`name`: how its rows are called. `tenth`: on each tenth node only. `owner`: whose pods they all are, `Job` or
    `ReplicaSet`; empty: as the trace is read. Without policies: that which is assumed."""

    name: str
    options: tuple[str, ...]
    policies: tuple[str, ...] = ()
    rules: tuple[str, ...] = ALL
    tenth: bool = False
    owner: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        rules = () if self.rules == ALL else self.rules
        more = (*(("--policy", own) for own in self.policies), *(("--rule", own) for own in rules))
        return (*self.options, *(word for pair in more for word in pair))

    @property
    def single(self) -> Iterator["Play"]:
        """With one policy and one rule each."""
        for policy, rule in product(self.policies or ("",), self.rules):
            yield self._replace(policies=(policy,) if policy else (), rules=(rule,))


class Answer(msgspec.Struct, frozen=True):
    """Of one policy and one rule."""

    outcome: RuleOutcome
    cpu_seconds: float
    most_memory: int
    """In bytes."""


class Player:
    """Plays nothing twice. `kept`: a folder in which answers stay for the next time."""

    def __init__(self, nodes: Path, pods: Path, kept: Path | None = None, jobs: int = 1) -> None:
        self.nodes, self.pods, self.kept, self.jobs = nodes, pods, kept, jobs
        self._files = blake2b(nodes.read_bytes() + pods.read_bytes(), digest_size=8).hexdigest()
        self._known: dict[str, Answer] = {}

    def answers(self, plays: Sequence[Play]) -> list[tuple[Play, Answer]]:
        """In their order, several at a time."""
        single = [own for play in plays for own in play.single]
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(zip(single, pool.map(self._answer, single), strict=True))

    def line(self, play: Play) -> str:
        """As a reader types it."""
        nodes = "TENTH.csv" if play.tenth else self.nodes.name
        pods = f"OF-{play.owner.upper()}S.csv" if play.owner else self.pods.name
        words = [f"'{word}'" if " " in word else word for word in play.words]
        return " ".join(("numafit fleet simulate", nodes, pods, *words))

    def key(self, play: Play) -> str:
        told = json.dumps([self._files, play.words, play.tenth, play.owner]).encode()
        return blake2b(told, digest_size=10).hexdigest()

    def _answer(self, play: Play) -> Answer:
        key = self.key(play)
        place = None if self.kept is None else self.kept / f"{key}.json"
        if key not in self._known and place is not None and place.exists():
            self._known[key] = msgspec.json.decode(place.read_bytes(), type=Answer)
        if key not in self._known:
            self._known[key] = self._played(play)
            if place is not None:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(msgspec.json.encode(self._known[key]))
        return self._known[key]

    def _played(self, play: Play) -> Answer:
        with tempfile.TemporaryDirectory(prefix="numafit-study-") as folder:
            nodes = Path(folder) / "nodes.csv"
            nodes.write_text(each_tenth(self.nodes.read_text()) if play.tenth else self.nodes.read_text())
            pods = Path(folder) / "pods.csv"
            pods.write_text(all_of(self.pods.read_text(), play.owner) if play.owner else self.pods.read_text())
            command = [sys.executable, "-m", "numafit", "fleet", "simulate", str(nodes), str(pods)]
            with (Path(folder) / "answer.json").open("w+b") as told:
                process = subprocess.Popen([*command, *play.words, "-o", "json"], stdout=told)
                _, status, used = os.wait4(process.pid, 0)
                # So that nobody waits for it once more.
                process.returncode = os.waitstatus_to_exitcode(status)
                if process.returncode:
                    raise SystemExit(f"{self.line(play)} ended with {process.returncode}")
                told.seek(0)
                (outcome,) = msgspec.json.decode(told.read(), type=FleetRunAnswer).rules
        return Answer(outcome, used.ru_utime + used.ru_stime, used.ru_maxrss << 10)


def each_tenth(nodes: str) -> str:
    """The first node of each ten, in the order of the file."""
    head, *rows = nodes.splitlines()
    return "\n".join((head, *rows[::TENTH], ""))


def all_of(pods: str, owner: str) -> str:
    """All pods of one class, by which the reader of this trace knows who owns them."""
    head, *rows = csv.reader(pods.splitlines())
    place, told = head.index("qos"), SERVICE if owner == SERVICE_OWNER else "BE"
    written = io.StringIO()
    changed = ((*row[:place], told, *row[place + 1 :]) for row in rows)
    csv.writer(written, lineterminator="\n").writerows((head, *changed))
    return written.getvalue()
