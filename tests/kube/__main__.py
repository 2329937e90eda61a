"""`python -m tests.kube`: build what the cluster of the tests needs, ahead of them."""

import sys

from tests.kube.build import build


def main() -> int:
    try:
        folder = build(lambda text: print(f"kube: {text}", flush=True))
    except RuntimeError as error:
        print(f"kube: {error}", file=sys.stderr)
        return 1
    print(f"kube: ready, with the programs in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
