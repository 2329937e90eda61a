"""`python -m tests.kube [--release RELEASE]`: build what the cluster of the tests needs, ahead of them.

Any Python of 3.11 or newer runs it, without packages. It says what cannot be built here, or not started later.
"""

import argparse
import signal
import sys
import time

from tests.kube.build import BUILD_SECONDS, HELM, JOBSET, KUBELETS, LWS, RELEASE, RELEASES, build, missing_for_kubelets


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kube")
    parser.add_argument("--release", choices=RELEASES, help="this one alone; an older one is a kubelet alone")
    parser.add_argument("--seconds", type=float, default=BUILD_SECONDS, help="to build; a later build goes on")
    own = parser.parse_args()
    # so that Go's compilers end, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    end = time.monotonic() + own.seconds
    for release in (own.release,) if own.release else (RELEASE, HELM, JOBSET, LWS):
        try:
            left = end - time.monotonic()
            folder = build(release, lambda text: print(f"kube: {text}", flush=True), left)
        except RuntimeError as error:
            print(f"kube: {error}", file=sys.stderr)
            return 1
        print(f"kube: ready, with the programs in {folder}")
        if release in KUBELETS and (lacking := missing_for_kubelets(release)):
            print(f"kube: some tests will be skipped: {lacking}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
