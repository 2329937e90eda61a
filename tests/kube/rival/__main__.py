"""The table of the cases: what the kubelet, the rival and the placer make of each pod."""

import argparse
import shutil
import tempfile
from pathlib import Path

from tests.kube.build import binaries, missing_for_rival
from tests.kube.counted.ways import RIVAL
from tests.kube.rival.cases import CASES
from tests.kube.rival.judge import judged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ways", default=f"{RIVAL},place", help="which, separated by commas")
    own = parser.parse_args()
    if lacking := missing_for_rival():
        raise SystemExit(lacking)
    columns: dict[str, dict[str, str]] = {"case": {case.name: case.name for case in CASES}}
    for way in own.ways.split(","):
        folder = Path(tempfile.mkdtemp(prefix="numafit-rival-"))
        try:
            columns[way], columns["kubelet"] = judged(way, folder, binaries())
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    for name in ("", *(case.name for case in CASES)):
        print("  ".join(f"{found[name] if name else head:<18}" for head, found in columns.items()))


if __name__ == "__main__":
    main()
