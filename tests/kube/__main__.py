"""`python -m tests.kube [--release RELEASE]`: build what the cluster of the tests needs, ahead of them."""

import argparse
import sys

from tests.kube.build import RELEASE, RELEASES, build


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kube")
    parser.add_argument("--release", choices=RELEASES, default=RELEASE, help="another one is a kubelet alone")
    try:
        folder = build(parser.parse_args().release, lambda text: print(f"kube: {text}", flush=True))
    except RuntimeError as error:
        print(f"kube: {error}", file=sys.stderr)
        return 1
    print(f"kube: ready, with the programs in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
