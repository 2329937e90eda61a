"""Runs inside of a job: three workers that inherited one CPU, while the program itself may use all.

`python3 heap.py CPU MARK`; it makes the file MARK and stays until that is gone.
"""

import os
import sys
import time
from pathlib import Path


def main() -> None:
    cpu, mark = int(sys.argv[1]), Path(sys.argv[2])
    workers = []
    for _ in range(3):
        worker = os.fork()
        if not worker:
            os.sched_setaffinity(0, {cpu})
            while True:
                pass
        workers.append(worker)
    mark.touch()
    while mark.exists():
        time.sleep(0.05)
    for worker in workers:
        os.kill(worker, 9)


if __name__ == "__main__":
    main()
