"""A storm of containers and plain jobs on one ledger: started, killed in each way there is, and started again.

What holds is read from the kernel, as `tests.real.observer` does: which processes live, what they were told that they
hold (their variables), and on which CPUs they may run (/proc/PID/status).
"""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from tests.real.docker.conftest import Numafit
from tests.real.docker.engine import IMAGE, Engine
from tests.real.observer import Observer, Process, cpus_allowed, numbers

REQUESTS = (
    ("--cpus", "1", "--wait=20s"),
    ("--cpus", "1"),
    ("--device", "example.com/dev=2", "--wait=20s"),
    ("--device", "example.com/dev=3"),
    (),
)
"""Without CPUs and devices it is shared work."""
AT_ONCE = 8
PAUSE = 0.1
"""Seconds between two deeds."""
SETTLE_SECONDS = 30.0


class Watcher(Observer):
    """Looks until it is stopped. A container that was started again has the variables of its first start: what it holds
    now is asked for when the storm rests."""

    def __init__(self, ledger: str) -> None:
        super().__init__(ledger)
        self.again: set[str] = set()
        """Leases of containers that somebody started again."""
        self._over = Event()
        self._thread = Thread(target=self._watch)
        self._thread.start()

    def _living(self) -> list[Process]:
        return [process for process in super()._living() if process.lease not in self.again]

    def _check_shared(self, living: list[Process]) -> None:
        """A container is moved a moment after it started, not before: this is looked at when the storm rests."""

    def living_leases(self) -> dict[str, set[int]]:
        """Lease -> the CPUs that the kernel lets its processes use, of all that live."""
        found: dict[str, set[int]] = {}
        for process in super()._living():
            allowed = cpus_allowed(process.pid)
            if allowed:
                found.setdefault(process.lease, set()).update(allowed)
        return found

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            self.look()

    def close(self) -> None:
        self._over.set()
        self._thread.join()


class ContainerStorm:
    def __init__(self, engine: Engine, numafit: Numafit, seed: int) -> None:
        self.engine, self.numafit = engine, numafit
        self.random = random.Random(seed)
        self.watcher = Watcher(str(numafit.folder))
        self.running: list[subprocess.Popen[str]] = []
        self.done: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.number = 0
        self._errors = (numafit.folder / "errors").open("a")

    @property
    def told(self) -> list[str]:
        """All that numafit and the docker command have said."""
        return (self.numafit.folder / "errors").read_text(errors="replace").splitlines()

    def rage(self, seconds: float) -> None:
        deeds = (
            *(self.start_container,) * 5,
            *(self.start_job,) * 3,
            self.kill_numafit,
            self.kill_both,
            self.kill_container,
            self.kill_first_process,
            *(self.start_again,) * 2,
            self.remove,
        )
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            deed = self.random.choice(deeds)
            if deed():
                self.done[deed.__name__] += 1
            self._bury()
            time.sleep(PAUSE)

    # Deeds; each says whether there was something to do

    def start_container(self) -> bool:
        self.number += 1
        flags = ["--name", f"c{self.number}", "--env", f"NUMAFIT_STATE={self.numafit.folder}"]
        flags += self.random.choice(([], ["-d"], ["--rm"]))
        return self._start("docker", "run", *self.random.choice(REQUESTS), "--", *flags, IMAGE, "sleep", self._long())

    def start_job(self) -> bool:
        return self._start("run", *self.random.choice(REQUESTS), "--", "sleep", self._long())

    def _long(self) -> str:
        return f"{self.random.uniform(0.5, 8):.1f}"

    def _start(self, *words: str) -> bool:
        if len(self.running) >= AT_ONCE:
            return False
        self.running.append(
            subprocess.Popen(
                self.numafit.line(*words),
                env=self.numafit.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                text=True,
            )
        )
        return True

    def kill_numafit(self) -> bool:
        return bool(self.running) and _killed(self.random.choice(self.running).pid)

    def kill_both(self) -> bool:
        """numafit, and the docker command or the job that it has started."""
        if not self.running:
            return False
        pid = self.random.choice(self.running).pid
        children = _children(pid)
        return _killed(pid) and [_killed(child) for child in children] != []

    def kill_container(self) -> bool:
        return self._with_one("running", lambda name: self.engine.docker("kill", name, check=False))

    def kill_first_process(self) -> bool:
        """Behind the engine's back."""

        def strike(name: str) -> None:
            pid = self.engine.docker("inspect", "--format", "{{.State.Pid}}", name, check=False).stdout.strip()
            _killed(int(pid or 0))

        return self._with_one("running", strike)

    def start_again(self) -> bool:
        def start(name: str) -> None:
            label = '{{index .Config.Labels "numafit.lease"}}'
            self.watcher.again.add(self.engine.docker("inspect", "--format", label, name, check=False).stdout.strip())
            self.engine.docker("start", name, check=False)

        return self._with_one("exited", start)

    def remove(self) -> bool:
        return self._with_one("running", lambda name: self.engine.docker("rm", "-f", name, check=False))

    def _with_one(self, state: str, deed: Callable[[str], object]) -> bool:
        names = self.engine.docker("ps", "-a", "--filter", f"status={state}", "--format", "{{.Names}}").stdout.split()
        if names:
            deed(self.random.choice(sorted(names)))
        return bool(names)

    # Rest

    def rest(self) -> None:
        """Nobody starts or kills: what is not as it should be is found and mended by the commands that look."""
        end = time.monotonic() + SETTLE_SECONDS
        while wrong := self.unsettled():
            assert time.monotonic() < end, wrong
            time.sleep(PAUSE)

    def unsettled(self) -> list[str]:
        """What the ledger says and the kernel does not, after a look."""
        before = self.watcher.living_leases()
        leases = {str(lease["id"]): lease for lease in self.numafit.leases()}
        after = self.watcher.living_leases()
        if set(before) != set(after):
            return ["something came or went meanwhile"]
        held = {name: numbers(str(lease["exclusive"] or "")) for name, lease in leases.items()}
        every = [cpu for cpus in held.values() for cpu in cpus]
        wrong = [f"{name} lives without a lease" for name in after if name not in leases]
        wrong += ["a CPU is promised twice"] if len(every) != len(set(every)) else []
        pool = set(os.sched_getaffinity(0)) - set(every)
        for name, allowed in after.items():
            own = held.get(name)
            if own and allowed - own:
                wrong.append(f"{name} holds {sorted(own)} and may use {sorted(allowed)}")
            elif own is not None and not own and pool and allowed & set(every):
                wrong.append(f"{name} is shared work, and may use {sorted(allowed)} of which {sorted(every)} are held")
        return wrong

    def _bury(self) -> None:
        for process in [process for process in self.running if process.poll() is not None]:
            self.statuses[process.returncode] += 1
            self.running.remove(process)

    def end(self) -> None:
        for process in self.running:
            process.kill()
        for process in self.running:
            self.statuses[process.wait()] += 1
        self.running.clear()
        self.engine.remove_containers()
        for pid in self._jobs():
            _killed(pid)

    def _jobs(self) -> list[int]:
        return [process.pid for process in Observer._living(self.watcher)]

    def close(self) -> None:
        self.watcher.close()
        self._errors.close()


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _killed(pid: int) -> bool:
    with suppress(ProcessLookupError):
        if pid > 1:
            os.kill(pid, signal.SIGKILL)
            return True
    return False
