"""`python -m tests.kube.live --seeds 1-20`: histories on a real kubelet, each decision compared with numafit's.

Each seed leaves the folder of a run in `--out`; what differs is printed, and `numafit replay FOLDER` says it again.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from numafit.cli.kubelet.run_folder import case_of_folder
from numafit.replay.replay import replay
from tests.kube.build import RELEASE, RELEASES, binaries, missing_for_kubelets
from tests.kube.control_plane import ControlPlane
from tests.kube.histories import History
from tests.kube.kubelet import KubeletNode
from tests.kube.recorder import Recorder

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
EVENTS = 25


class Compared(NamedTuple):
    decisions: int
    verdict: str
    difference: str
    unsettled: int


def record(
    cluster: ControlPlane, work: Path, out: Path, seed: int, events: int = EVENTS, release: str = RELEASE
) -> tuple[Path, Recorder]:
    history = History(seed, int(release.split(".")[1]))
    archive = SHARED / "captures" / history.machine / "sys.tgz"
    node = KubeletNode(cluster, work / f"n{seed}", f"seed{seed}", archive, history.config, release)
    try:
        recorder = Recorder(node, history.machine, history.pods, history.plugins)
        recorder.begin()
        for _ in range(events):
            recorder.happen(history.next(recorder.there()))
            if recorder.crashed:
                break
        return recorder.write(out / f"seed-{seed}", f"seed-{seed}"), recorder
    finally:
        node.close()
        shutil.rmtree(node.folder, ignore_errors=True)


def compare(folder: Path, recorder: Recorder) -> Compared:
    case = case_of_folder(folder)
    if case is None:
        return Compared(0, "match", "", 0)
    decisions = sum(len(entry.get("decisions") or ()) for entry in case["expect"]["events"])
    result = replay(case)
    return Compared(decisions, result.verdict, str(result.difference or ""), len(recorder.unsettled))


def run(seeds: range, out: Path, events: int, seconds: float, release: str) -> int:
    """How many seeds differ."""
    out.mkdir(parents=True, exist_ok=True)
    captures = out.parent / "captures"
    if not captures.exists():
        captures.symlink_to(SHARED / "captures")
    end = time.monotonic() + seconds
    total, differing = 0, 0
    work = Path(tempfile.mkdtemp(prefix="numafit-kube-"))
    try:
        with ControlPlane(work / "cluster", binaries()) as cluster:
            for seed in seeds:
                if time.monotonic() > end:
                    break
                shutil.rmtree(out / f"seed-{seed}", ignore_errors=True)
                began = time.monotonic()
                try:
                    found = compare(*record(cluster, work, out, seed, events, release))
                except (RuntimeError, TimeoutError) as error:
                    found = Compared(0, "broken", str(error), 0)
                total += found.decisions
                differing += found.verdict in ("differs", "broken")
                line = f"seed {seed}: {found.decisions} decisions, {found.verdict}, {time.monotonic() - began:.0f} s"
                print(line, f", {found.unsettled} events did not settle" if found.unsettled else "", flush=True)
                if found.difference:
                    print(f"  {found.difference[:2000]}", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{total} decisions compared, {differing} seeds differ")
    return differing


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kube.live")
    parser.add_argument("--seeds", default="1-10", help="A-B")
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--events", type=int, default=EVENTS, help="in each history")
    parser.add_argument("--seconds", type=float, default=3600, help="no further seed begins after so long")
    parser.add_argument("--release", choices=RELEASES, default=RELEASE, help="of the kubelet")
    own = parser.parse_args()
    if lacking := missing_for_kubelets(own.release):
        print(f"live: {lacking}", file=sys.stderr)
        return 2
    # so that what was begun is cleared away
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    first, _, last = own.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    return 1 if run(seeds, own.out.resolve(), own.events, own.seconds, own.release) else 0


if __name__ == "__main__":
    sys.exit(main())
