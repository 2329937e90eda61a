"""`python -m tests.kube.rates placer --nodes 100,1000 --rounds 5`: a table as the pages have it."""

import argparse
import os
import sys

from tests.kube.build import missing
from tests.kube.rates import created, scheduled

SIZES = (100, 1000, 5000)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kube.rates", description=__doc__)
    parser.add_argument("what", choices=("placer", "extender"))
    parser.add_argument("--nodes", default=",".join(map(str, SIZES)), help="numbers of nodes, in growing order")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pods", type=int, default=0, help="of each round; else as many as suit the nodes")
    own = parser.parse_args()
    if lacking := missing():
        print(lacking, file=sys.stderr)
        return 1
    sizes = [int(text) for text in own.nodes.split(",")]

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    if own.what == "extender":
        print(scheduled.table(scheduled.scheduled(scheduled.WAYS, sizes, own.rounds, tell), scheduled.BASES))
    else:
        print(created.table(created.created(sizes, own.rounds, tell, own.pods)))
    print(f"load: {' '.join(f'{each:.1f}' for each in os.getloadavg())} on {os.cpu_count()} processors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
