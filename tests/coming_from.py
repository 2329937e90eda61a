"""The tables of docs/coming-from.md: what people type today, and the line of numafit beside it. Which test runs which
line is said here, so that none is left out."""

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coming-from.md"
ROW = re.compile(r"^\| `([^|]+)` \| `(numafit [^|]+)` \|", re.MULTILINE)
LINES = re.compile(r"^(\w+ .+?)(?: +# .*)?\n(numafit .+)$", re.MULTILINE)
"""What is too long for a row: one below the other."""


class Pair(NamedTuple):
    today: str
    ours: str


PAIRS = [Pair(*found.groups()) for form in (ROW, LINES) for found in form.finditer(PAGE.read_text())]

BESIDE = (
    "numactl -N 1 -m 1",
    "numactl --preferred",
    "numactl --interleave=all",
    "numactl --interleave=0,1",
    "numactl -C",
    "taskset",
    "hwloc-bind",
)
"""Both lines run in a virtual machine, and the kernel's files are compared: `tests/vm/test_coming_from.py`."""
GUEST = (
    *("OMP_PLACES", "systemd-run", "timeout", "flock", "numactl --hardware", "numastat", "hwloc-ps", "mlc"),
    *("hyperfine", "pidstat", "srun -c 8", "srun --immediate -c", "srun --immediate=60", "srun --mem", "srun --gpus"),
    *("srun --gres", "srun --hint", "srun --exclusive"),
    *("srun --time", "srun --nice", "squeue", "scancel 1234", "scancel -u", "sacct"),
)
"""The line of numafit runs there."""
LAUNCHED = ("mpirun", "srun -n 4", "torchrun")
"""With Open MPI, Slurm and PyTorch: `tests/vm/test_launchers.py`."""
CONTAINERS = ("docker run", "podman run", "docker update", "docker compose")
"""With real engines: `tests/real/docker`."""


def pair_for(today: str) -> Pair:
    """The row that begins so."""
    (pair,) = (pair for pair in PAIRS if pair.today.startswith(today))
    return pair
