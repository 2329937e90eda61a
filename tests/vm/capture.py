"""`python -m tests.vm.capture`: boots the machine with 128 CPUs and replaces its capture in `tests/machine`."""

import shutil
import sys
import tempfile
from pathlib import Path

from tests.vm import Job, run_jobs
from tests.vm.shapes import BIG

BIG_CAPTURE = Path(__file__).resolve().parents[1] / "machine" / "captures" / "numa4x128.tgz"
CAPTURE = Job("capture", 'numafit machine capture --out "$OUT/box.tgz"', timeout=300)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        result = run_jobs(BIG, [CAPTURE], Path(folder) / "vm")["capture"]
        print(result.stdout + result.stderr, end="")
        if result.status == 0:
            BIG_CAPTURE.parent.mkdir(exist_ok=True)
            shutil.copyfile(result.folder / "box.tgz", BIG_CAPTURE)
        return result.status


if __name__ == "__main__":
    sys.exit(main())
