"""A storm: many `numafit run` at once, some of them and some of their commands killed, and an observer beside them.

`python storm.py PLAN` runs what the JSON in PLAN says and prints what happened as JSON. It stands alone (standard
library) and is copied into guests, with `observer.py` beside it.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import observer

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

COMMANDS = (
    ("sleep", "{seconds}"),
    ("sh", "-c", "sleep {seconds}; exit 3"),
    # Leaves a process behind: the lease must stay with it.
    ("sh", "-c", "sleep {seconds} & sleep 0.1"),
    ("sh", "-c", "sleep {seconds} & sleep {seconds}; wait"),
)
PAUSE = 0.05
"""Seconds."""
STATE = "NUMAFIT_STATE"


class Storm:
    def __init__(self, plan: dict[str, object]) -> None:
        self.numafit = list(plan["numafit"])
        self.ledger = str(plan["ledger"])
        """A folder of its own: nothing of any other is looked at or killed."""
        self.requests = list(plan["requests"])
        """Words for `numafit run`, one list per job to choose from."""
        self.jobs = int(plan["jobs"])
        self.at_once = int(plan["atOnce"])
        self.longest = float(plan["longest"])
        """Seconds that a command runs at most."""
        self.end = time.monotonic() + float(plan["seconds"])
        self.kill_chance = float(plan["kills"])
        """Each `PAUSE`, that something is killed."""
        self.pause = str(plan["pause"])
        """Seconds between two looks of the observer."""
        self.random = random.Random(int(plan["seed"]))
        self.ways = list(plan.get("ways", [[]]))
        """Words before numafit, one list per job to choose from: another user, a pid namespace."""
        self.user = int(plan.get("user", 0))
        """Whose processes may all be killed at once; 0: nobody's."""
        self.running: list[subprocess.Popen[bytes]] = []
        self.statuses: Counter[int] = Counter()
        self.killed = {"supervisors": 0, "commands": 0}
        if self.user:
            self.killed |= {"namespaces": 0, "users": 0}

    def run(self) -> dict[str, object]:
        with tempfile.TemporaryDirectory() as folder:
            stop = Path(folder) / "stop"
            command = [sys.executable, str(HERE / "observer.py"), self.ledger, self.pause, str(stop)]
            watcher = subprocess.Popen(command, stdout=subprocess.PIPE)
            errors = Path(folder) / "errors"
            try:
                with errors.open("wb") as self.errors:
                    started = self._start_and_kill()
                left = self._wait_for_survivors()
            finally:
                stop.touch()
                seen, _ = watcher.communicate(timeout=60)
            told = errors.read_text(errors="replace")
        return {
            "jobs": started,
            "statuses": dict(self.statuses),
            "killed": self.killed,
            "outlived": left,
            "told": Counter(words(line) for line in told.splitlines()),
            "observer": json.loads(seen),
        }

    def _start_and_kill(self) -> int:
        started = 0
        while (started < self.jobs or self.running) and time.monotonic() < self.end:
            while started < self.jobs and len(self.running) < self.at_once:
                self._start()
                started += 1
            if self.random.random() < self.kill_chance:
                self._kill()
            self._bury()
            time.sleep(PAUSE)
        # Out of time: what still waits or runs is struck down, and must leave nothing behind.
        for process in self.running:
            process.kill()
        for process in self.running:
            self.statuses[process.wait()] += 1
        self.running.clear()
        return started

    def _start(self) -> None:
        seconds = f"{self.random.uniform(0.05, self.longest):.2f}"
        command = [word.format(seconds=seconds) for word in self.random.choice(COMMANDS)]
        words = [
            *self.random.choice(self.ways),
            *self.numafit,
            "run",
            *self.random.choice(self.requests),
            "--",
            *command,
        ]
        environment = {**os.environ, "NUMAFIT_STATE": self.ledger}
        self.running.append(subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stderr=self.errors))

    def _kill(self) -> None:
        if self.user and self.random.random() < 0.5:
            self._kill_many()
        elif self.random.random() < 0.5:
            if self.running and self.killed["supervisors"] * 3 < self.jobs:
                self.random.choice(self.running).kill()
                self.killed["supervisors"] += 1
        elif self._killed(self.random.choice(self._jobs() or [0])):
            self.killed["commands"] += 1

    def _kill_many(self) -> None:
        """A whole pid namespace by its first process, or all jobs of a user and those who watch over them."""
        if self.random.random() < 0.7:
            first = [child for process in self.running for child in children(process.pid) if is_first(child)]
            if self._killed(self.random.choice(first or [0])):
                self.killed["namespaces"] += 1
            return
        theirs = [pid for pid in pids() if user_of(pid) == self.user and observer.environment(pid).get(STATE)]
        struck = [pid for pid in theirs if observer.environment(pid).get(STATE) == self.ledger and self._killed(pid)]
        self.killed["users"] += bool(struck)

    def _killed(self, pid: int) -> bool:
        try:
            os.kill(pid or -(1 << 22), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def _bury(self) -> None:
        for process in [process for process in self.running if process.poll() is not None]:
            self.statuses[process.returncode] += 1
            self.running.remove(process)

    def _wait_for_survivors(self) -> int:
        """What the killed left running ends by itself; how many did not in time."""
        end = time.monotonic() + self.longest + 5
        while self._jobs() and time.monotonic() < end:
            time.sleep(0.1)
        return len(self._jobs())

    def _jobs(self) -> list[int]:
        """Processes that carry a lease of this storm."""
        return [pid for pid in pids() if observer.is_job(observer.environment(pid), self.ledger)]


def pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def field(pid: int, name: str) -> list[str]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return next((line.split()[1:] for line in lines if line.startswith(f"{name}:")), [])


def is_first(pid: int) -> bool:
    """Whether it is the first process of a pid namespace, whose end is that of all in there."""
    numbers = field(pid, "NSpid")
    return len(numbers) > 1 and numbers[-1] == "1"


def user_of(pid: int) -> int:
    return int((field(pid, "Uid") or ["-1"])[0])


def words(line: str) -> str:
    """A message without its numbers and names, to be counted."""
    return line.partition(" lease ")[0] + " lease …" if " lease " in line else line


def main(plan: Path) -> None:
    print(json.dumps(Storm(json.loads(plan.read_text())).run()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
