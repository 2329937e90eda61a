"""Watches the processes of a host from outside: whether two jobs ever hold the same thing.

It knows nothing of numafit but the variables that a job is given, and reads only /proc. It stands alone (standard
library) and is copied into guests. `python observer.py LEDGER PAUSE STOP` looks at the jobs of one ledger until the
file STOP exists, with PAUSE seconds between two looks, and prints what it saw.
"""

import json
import sys
import time
from pathlib import Path

PROC = Path("/proc")
DEAD = "ZXx"


class Process:
    """One that carries a lease, as it was when it was first seen with it."""

    def __init__(self, pid: int, start: int, variables: dict[str, str]) -> None:
        self.pid = pid
        self.start = start
        self.lease = variables["NUMAFIT_LEASE"]
        self.holds = set(things(variables))
        self.shared = bool(variables.get("NUMAFIT_SHARED"))
        self.cpus = frozenset() if self.shared else numbers(variables.get("NUMAFIT_CPUS", ""))

    def lives(self) -> bool:
        return state_and_start(self.pid) == (True, self.start)


class Observer:
    """Of the jobs whose NUMAFIT_STATE names one ledger: another one on the same host knows nothing of it."""

    def __init__(self, ledger: str) -> None:
        self.ledger = ledger
        self.known: dict[int, Process] = {}
        self.looks = 0
        self.most = 0
        """Leases that were alive in one look."""
        self.last_seen: dict[str, float] = {}
        """Lease -> wall clock of the last look at which one of its processes lived."""
        self.twice: set[str] = set()
        self.strayed: set[str] = set()
        self.intruded: set[str] = set()

    def look(self) -> None:
        living = self._living()
        holders: dict[str, Process] = {}
        for process in living:
            for thing in process.holds:
                other = holders.setdefault(thing, process)
                # All were seen one after the other; only when the first still lives now, both lived at one time.
                if other.lease != process.lease and other.lives() and process.lives():
                    self.twice.add(f"{thing}: {other.lease} (process {other.pid}) and {process.lease} ({process.pid})")
            self._check_cpus(process)
        self._check_shared(living)
        self.looks += 1
        self.most = max(self.most, len({process.lease for process in living}))

    def _living(self) -> list[Process]:
        now = time.time()
        found = []
        for pid in sorted(int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal()):
            lives, start = state_and_start(pid)
            process = self.known.get(pid)
            if process is None or process.start != start:
                # Looked at again and again: a new process has its variables only once it is the command.
                variables = environment(pid) if lives else {}
                if not is_job(variables, self.ledger):
                    continue
                process = self.known[pid] = Process(pid, start, variables)
            if lives:
                found.append(process)
                self.last_seen[process.lease] = now
        return found

    def _check_cpus(self, process: Process) -> None:
        """A job with CPUs of its own runs on these and on no others."""
        allowed = cpus_allowed(process.pid) if process.cpus else frozenset()
        if allowed and allowed != process.cpus and process.lives():
            self.strayed.add(f"{process.lease} (process {process.pid}): {sorted(allowed)} not {sorted(process.cpus)}")

    def _check_shared(self, living: list[Process]) -> None:
        """Shared work may not run on CPUs that somebody has for himself: it is moved before he starts."""
        owners = {cpu: process for process in living for cpu in process.cpus}
        for process in living:
            if process.shared:
                for cpu in sorted(cpus_allowed(process.pid) & set(owners)):
                    if owners[cpu].lives() and process.lives():
                        self.intruded.add(
                            f"{process.lease} (process {process.pid}) on CPU {cpu} of {owners[cpu].lease}"
                        )

    def report(self) -> dict[str, object]:
        return {
            "looks": self.looks,
            "most": self.most,
            "lastSeen": self.last_seen,
            "twice": sorted(self.twice),
            "strayed": sorted(self.strayed),
            "intruded": sorted(self.intruded),
        }


def is_job(variables: dict[str, str], ledger: str) -> bool:
    return "NUMAFIT_LEASE" in variables and variables.get("NUMAFIT_STATE") == ledger


def things(variables: dict[str, str]) -> list[str]:
    """What nobody else may hold: devices, and CPUs that are not shared."""
    devices = [
        f"{resource}={device}"
        for part in variables.get("NUMAFIT_DEVICES", "").split(";")
        if part
        for resource, _, ids in [part.partition("=")]
        for device in ids.split(",")
    ]
    cpus = [] if variables.get("NUMAFIT_SHARED") else sorted(numbers(variables.get("NUMAFIT_CPUS", "")))
    return devices + [f"CPU {cpu}" for cpu in cpus]


def numbers(text: str) -> frozenset[int]:
    """`0-2,5`"""
    found: set[int] = set()
    for part in text.split(",") if text.strip() else ():
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def environment(pid: int) -> dict[str, str]:
    try:
        data = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    pairs = (part.decode("utf-8", "replace").partition("=") for part in data.split(b"\0") if part)
    return {name: value for name, _, value in pairs}


def state_and_start(pid: int) -> tuple[bool, int]:
    """Whether it lives, and the clock tick of its start; 0 when it is gone."""
    try:
        fields = (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return False, 0
    return fields[0] not in DEAD, int(fields[19])


def cpus_allowed(pid: int) -> frozenset[int]:
    """Empty when it is gone."""
    try:
        text = (PROC / str(pid) / "status").read_text("utf-8", "replace")
    except OSError:
        return frozenset()
    lists = (line.split()[1] for line in text.splitlines() if line.startswith("Cpus_allowed_list:"))
    return numbers(next(lists, ""))


def main(ledger: str, pause: float, stop: Path) -> None:
    observer = Observer(ledger)
    while not stop.exists():
        observer.look()
        time.sleep(pause)
    print(json.dumps(observer.report()))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]))
