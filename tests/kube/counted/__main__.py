"""All ways, one after the other; a table, or JSON."""

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

import msgspec

from tests.kube.build import JOBSET, binaries, missing_for_controller, missing_for_rival
from tests.kube.counted.fleet import RESTRICTED
from tests.kube.counted.owners import PODS, WANTED, make_all, make_many
from tests.kube.counted.watched import Watched
from tests.kube.counted.ways import RIVAL, WAYS, Way, begun

HEAD = ("way", "owner", "made", "rejected", "ran", "at the end", "median s", "last s", "ungated", "wronged")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    built = WAYS if missing_for_rival() else (*WAYS, RIVAL)
    parser.add_argument("--ways", default=",".join(built), help="which, separated by commas")
    parser.add_argument("--policy", default=RESTRICTED, help="of the nodes: restricted, or single-numa-node")
    parser.add_argument("--seconds", type=float, default=60, help="after the owners were made")
    parser.add_argument("--many", type=int, default=0, help="so many short pods instead of the owners")
    parser.add_argument("--at-once", type=int, default=80, help="of the many")
    parser.add_argument("--json", action="store_true")
    own = parser.parse_args()
    if lacking := missing_for_rival() if RIVAL in own.ways.split(",") else missing_for_controller(JOBSET):
        raise SystemExit(lacking)
    rows: list[tuple[object, ...]] = []
    for name in own.ways.split(","):
        folder = Path(tempfile.mkdtemp(prefix="numafit-counted-"))
        try:
            with begun(name, folder, binaries(), own.seconds / 2, policy=own.policy, controllers=(JOBSET,)) as way:
                counted(way, own.seconds, own.many, own.at_once)
                rows += lines(name, way.watched, () if own.many else tuple(PODS))
                tell_rejections(name, way.watched)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    if own.json:
        print(json.dumps([dict(zip(HEAD, row, strict=True)) for row in rows], indent=1))
        return
    for row in (HEAD, *rows):
        print("  ".join(f"{'-' if cell is None else cell!s:>10}" for cell in row))


def counted(way: Way, seconds: float, many: int, at_once: int) -> None:
    if many:
        make_many(way.cluster.api, many, at_once)
    else:
        make_all(way.cluster.api)
    wanted = many // 4 * 4 if many else WANTED
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.5)
        way.check()
        if many and way.watched.count().ran >= wanted:
            return


def lines(name: str, watched: Watched, owners: tuple[str, ...]) -> list[tuple[object, ...]]:
    return [(name, owner or "all", *msgspec.structs.astuple(watched.count(owner))) for owner in (*owners, "")]


def tell_rejections(name: str, watched: Watched) -> None:
    if name in ("place", "extender"):
        for course in watched.courses.values():
            if course.rejected:
                how = "held and released" if course.gated else "never held"
                print(f"{name}: {course.name} ({how}) on {course.node}: {course.rejected}: {course.message}")


if __name__ == "__main__":
    main()
