"""`python -m tests.kube.chaos --minutes 10 --seed 1`; the exit status is 1 where something was violated."""

import argparse
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.kube.build import binaries, missing_for_kubelets
from tests.kube.chaos.story import live_through
from tests.kube.control_plane import ControlPlane


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kube.chaos")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--keep", action="store_true", help="leave the folder with all logs there")
    options = parser.parse_args()
    if lacking := missing_for_kubelets():
        print(lacking)
        return 2
    # so that everything is put in order
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(tempfile.mkdtemp(prefix="numafit-kube-"))
    print(f"seed {options.seed}, in {folder}", flush=True)
    try:
        with ControlPlane(folder / "cluster", binaries()) as cluster:
            report = live_through(
                cluster, folder / "c", options.seed, options.minutes * 60, lambda line: print(line, flush=True)
            )
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(report)
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
