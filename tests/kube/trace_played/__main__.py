"""`python -m tests.kube.trace_played NODES.csv PODS.csv`: each way, one after the other; a table for the study."""

import argparse
import os
import shutil
import tempfile
from pathlib import Path

import msgspec

from numafit.fleet.simulation.scores import SCORINGS
from tests.kube.build import binaries, missing
from tests.kube.trace_played.choices import UNTOLD, followed, judged
from tests.kube.trace_played.compared import delays, made_at_once, pauses, rows, table
from tests.kube.trace_played.model import modelled
from tests.kube.trace_played.player import RealRun, played, standing
from tests.kube.trace_played.slice import TraceSlice, cut
from tests.kube.trace_played.ways import WAYS, PlayedWay

AFTER = 60.0
"""Seconds after the last arrival."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.kube.trace_played", description=__doc__)
    parser.add_argument("trace_nodes", type=Path, metavar="NODES")
    parser.add_argument("trace_pods", type=Path, metavar="PODS")
    parser.add_argument("--ways", default=",".join(WAYS), help="which, separated by commas")
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--pods", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=240, help="in which the pods arrive")
    parser.add_argument("--load", type=float, default=1.1, help="part of all GPUs that is wanted on average")
    parser.add_argument("--policy", default="single-numa-node", help="of the kubelets")
    parser.add_argument("--seeds", type=int, default=10, help="of the model")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="leaves what became of each pod there; what is there is not played again",
    )
    own = parser.parse_args()
    if lacking := missing():
        raise SystemExit(lacking)
    lines: list[tuple[str, ...]] = []
    for name in own.ways.split(","):
        way, folder = WAYS[name], Path(tempfile.mkdtemp(prefix="numafit-played-"))
        try:
            piece = cut(
                own.trace_nodes,
                own.trace_pods,
                folder,
                many_nodes=own.nodes,
                many_pods=own.pods,
                seconds=own.seconds,
                load=own.load,
                policy=own.policy,
            )
            print(f"{name}: {len(piece.pods)} pods on {len(piece.states)} nodes with {piece.gpus} GPUs", flush=True)
            real = _real(way, piece, folder, own.seconds + AFTER, own.keep)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        seeds = range(1 if way.rule.exact else own.seeds)
        lines += rows(name, real.result, [modelled(piece, way.rule, own.seconds + AFTER, seed) for seed in seeds])
        _tell(way, piece, real)
    print(f"\n{table(lines)}")
    print(f"load: {' '.join(f'{each:.1f}' for each in os.getloadavg())} on {os.cpu_count()} processors")


def _real(way: PlayedWay, piece: TraceSlice, folder: Path, end: float, keep: Path | None) -> RealRun:
    """Played, or taken from where it was kept."""
    file = None if keep is None else keep / f"{way.name}.json"
    if file is not None and file.exists():
        return msgspec.json.decode(file.read_bytes(), type=RealRun)
    with standing(way, piece, folder, binaries()) as cluster:
        real = played(cluster, piece, end, lambda text: print(text, flush=True))
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(msgspec.json.encode(real))
    return real


def _tell(way: PlayedWay, piece: TraceSlice, real: RealRun) -> None:
    """What explains the differences."""
    kinds = {pod.pod.name: pod.owner for pod in piece.pods}
    print("  median seconds: " + ", ".join(f"{what} {told:.2f}" for what, told in delays(real).items()))
    again = ", ".join(f"{what}: {many} times {told:.2f}" for what, (many, told) in pauses(real, kinds).items())
    print(f"  median seconds from a rejection to the next pod: {again or 'none'}")
    made = ", ".join(f"{many}: {told:.1f}" for many, told in made_at_once(real, kinds).items())
    print(f"  pods in a second by so many ReplicaSets that loop at once, at most: {made or 'none'}")
    if way.rule.exact:
        order = followed(piece, real.courses)
        print(
            f"  of {order.bindings} that ran {order.first} went to the node that numafit's order had first, as the "
            f"nodes stood then; of the others {order.untold} within {UNTOLD:.0f} s after a change of one of both nodes"
        )
        return
    scoring = SCORINGS[way.rule.order]
    found = judged(piece, real.courses, scoring)
    print(
        f"  of {found.bindings} bindings {found.best} to a node with the best score of the model, "
        f"{found.fitting} to another that fits; {found.tied:.1f} were equally good; "
        f"points behind: {dict(sorted(found.behind.items()))}"
    )
    ran = judged(piece, [course for course in real.courses if not course.rejected], scoring)
    print(f"  had rejected pods stood nowhere, {ran.best} of {ran.bindings} that ran went to such a node")


if __name__ == "__main__":
    main()
