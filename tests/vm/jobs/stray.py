"""Runs inside of a job: a second thread leaves the CPUs of the job.

`python3 stray.py MARK CPU`; it makes the file MARK and stays until that is gone.
"""

import os
import sys
import threading
import time
from pathlib import Path


def stray(cpu: int, mark: Path) -> None:
    # For this thread alone.
    os.sched_setaffinity(0, {cpu})
    mark.touch()
    while mark.exists():
        time.sleep(0.01)


def main() -> None:
    thread = threading.Thread(target=stray, args=(int(sys.argv[2]), Path(sys.argv[1])))
    thread.start()
    thread.join()


if __name__ == "__main__":
    main()
