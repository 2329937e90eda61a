"""`python -m tests.kube.live --seeds 1-20`: histories on real kubelets, each decision compared with numafit's.

Several kubelets live at once, since each one mostly waits. Each seed leaves the folder of a run in `--out`; what
differs is printed, and `numafit replay FOLDER` says it again.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from numafit.cli.kubelet.run_folder import case_of_folder
from numafit.replay.replay import replay
from tests.kube.build import KUBELETS, RELEASE, binaries, missing_for_kubelets
from tests.kube.control_plane import ControlPlane
from tests.kube.histories import History
from tests.kube.kubelet import KubeletNode
from tests.kube.recorder import Recorder

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
EVENTS = 25
NODES = 6
"""Kubelets at a time."""


class Compared(NamedTuple):
    seed: int
    folder: Path
    decisions: int
    verdict: str
    difference: str
    unsettled: int
    seconds: float

    @property
    def is_bad(self) -> bool:
        return self.verdict in ("differs", "broken")

    def __str__(self) -> str:
        line = f"seed {self.seed}: {self.decisions} decisions, {self.verdict}, {self.seconds:.0f} s"
        line += f", {self.unsettled} events did not settle" if self.unsettled else ""
        return line + (f", {self.folder}\n  {self.difference[:2000]}" if self.is_bad else "")


class Live:
    """One control plane for all; `out` gets a folder for each seed, and `captures` beside it."""

    def __init__(self, cluster: ControlPlane, work: Path, out: Path, events: int, release: str = RELEASE) -> None:
        self.cluster, self.work, self.out, self.events, self.release = cluster, work, out, events, release
        self.ending = threading.Event()
        out.mkdir(parents=True, exist_ok=True)
        captures = out.parent / "captures"
        if not captures.exists():
            captures.symlink_to(SHARED / "captures")

    def all_of(self, seeds: Iterable[int], nodes: int = NODES, seconds: float = 1e9) -> Iterator[Compared]:
        """In the order in which they end. None begins after so many seconds."""
        end = time.monotonic() + seconds
        # A kubelet lives and dies with the thread that started it: one thread does one seed after the other.
        with ThreadPoolExecutor(nodes) as pool:
            begun = [pool.submit(self._one, seed, end) for seed in seeds]
            try:
                for done in as_completed(begun):
                    if (found := done.result()) is not None:
                        yield found
            finally:
                self.ending.set()
                pool.shutdown(cancel_futures=True)

    def _one(self, seed: int, end: float) -> Compared | None:
        if self.ending.is_set() or time.monotonic() > end:
            return None
        began = time.monotonic()
        folder = self.out / f"seed-{seed}"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            unsettled = self._record(seed, folder)
            found = _compare(folder)
        except (RuntimeError, TimeoutError, OSError) as error:
            unsettled, found = 0, (0, "broken", f"{type(error).__name__}: {error}")
        return Compared(seed, folder, *found, unsettled, time.monotonic() - began)

    def _record(self, seed: int, folder: Path) -> int:
        """How many events did not settle."""
        history = History(seed, int(self.release.split(".")[1]))
        archive = SHARED / "captures" / history.machine / "sys.tgz"
        own = self.work / f"n{seed}"
        node = KubeletNode(self.cluster, own, f"seed{seed}", archive, history.config, self.release, history.pages)
        try:
            recorder = Recorder(node, history.machine, history.pods, history.plugins)
            recorder.begin()
            for _ in range(self.events):
                recorder.happen(history.next(recorder.there()))
                if recorder.crashed or recorder.overtaken or self.ending.is_set():
                    break
            recorder.write(folder, f"seed-{seed}")
            return len(recorder.unsettled)
        finally:
            node.close()
            shutil.rmtree(node.folder, ignore_errors=True)


def _compare(folder: Path) -> tuple[int, str, str]:
    case = case_of_folder(folder)
    if case is None:
        return 0, "match", ""
    decisions = sum(len(entry.get("decisions") or ()) for entry in case["expect"]["events"])
    result = replay(case)
    return decisions, result.verdict, str(result.difference or "")


def told(found: Iterable[Compared], tell: Callable[[str], None]) -> list[Compared]:
    """All of them, each told as it comes, and in the end their number."""
    everything: list[Compared] = []
    for own in found:
        tell(str(own))
        everything.append(own)
    decisions, bad = sum(own.decisions for own in everything), sum(own.is_bad for own in everything)
    tell(f"{decisions} decisions of {len(everything)} seeds compared, {bad} seeds differ")
    return everything


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kube.live")
    parser.add_argument("--seeds", default="1-10", help="A-B")
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--events", type=int, default=EVENTS, help="in each history")
    parser.add_argument("--nodes", type=int, default=NODES, help="kubelets at a time")
    parser.add_argument("--seconds", type=float, default=3600, help="no further seed begins after so long")
    parser.add_argument("--release", choices=KUBELETS, default=RELEASE, help="of the kubelet")
    own = parser.parse_args()
    if lacking := missing_for_kubelets(own.release):
        print(f"live: {lacking}", file=sys.stderr)
        return 2
    # so that what was begun is cleared away
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    first, _, last = own.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    work = Path(tempfile.mkdtemp(prefix="numafit-kube-"))
    try:
        with ControlPlane(work / "cluster", binaries()) as cluster:
            live = Live(cluster, work, own.out.resolve(), own.events, own.release)
            found = told(live.all_of(seeds, own.nodes, own.seconds), lambda text: print(text, flush=True))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if any(each.is_bad for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
