"""`python -m tests.kube [--release RELEASE]`: build what the cluster of the tests needs, ahead of them.

Any Python of 3.11 or newer runs it, without packages. It says what cannot be built here, or not started later.
"""

import argparse
import signal
import sys

from tests.kube.build import BUILD_SECONDS, RELEASE, RELEASES, build, missing_for_kubelets


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kube")
    parser.add_argument("--release", choices=RELEASES, default=RELEASE, help="another one is a kubelet alone")
    parser.add_argument("--seconds", type=float, default=BUILD_SECONDS, help="to build; a later build goes on")
    own = parser.parse_args()
    # so that Go's compilers end, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        folder = build(own.release, lambda text: print(f"kube: {text}", flush=True), own.seconds)
    except RuntimeError as error:
        print(f"kube: {error}", file=sys.stderr)
        return 1
    print(f"kube: ready, with the programs in {folder}")
    if lacking := missing_for_kubelets(own.release):
        print(f"kube: some tests will be skipped: {lacking}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
