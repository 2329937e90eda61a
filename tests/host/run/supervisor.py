"""A small program around `supervise`, to be run in a process of its own: `python supervisor.py RECORD COMMAND…`.

RECORD gets a line `started PID` before the command runs, and a line for each tick. SUPERVISOR in the environment
changes what it does: `bind-fails`, `record-fails`, `dies-before-leave`, `ticks`, `tick-fails`.
"""

import os
import signal
import sys
from pathlib import Path

from numafit.errors import NumafitError
from numafit.host.bind.target import BindError, Bound
from numafit.host.run.supervise import finish, supervise

BOUND = Bound("affinity", 1 << 100, 1, skipped=("cgroup v2: no",))


def main() -> int:
    record = Path(sys.argv[1])
    how = os.environ.get("SUPERVISOR", "")

    def note(text: str) -> None:
        with record.open("a") as file:
            file.write(f"{text}\n")

    def prepare() -> Bound:
        if how == "bind-fails":
            raise BindError("no such CPU")
        return BOUND

    def started(pid: int, bound: Bound) -> None:
        assert bound == BOUND
        if how == "record-fails":
            raise NumafitError("the disk is full")
        note(f"started {pid}")
        if how == "dies-before-leave":
            os.kill(os.getpid(), signal.SIGKILL)

    def tick() -> None:
        note("tick")
        if how == "tick-fails":
            raise NumafitError("the pool is gone")

    ticking = how in ("ticks", "tick-fails")
    try:
        status = supervise(
            sys.argv[2:], os.environ, prepare=prepare, started=started, tick=tick if ticking else None, every=0.05
        )
    except NumafitError as error:
        print(f"numafit: {error}", file=sys.stderr)
        return 2
    return finish(status)


if __name__ == "__main__":
    sys.exit(main())
