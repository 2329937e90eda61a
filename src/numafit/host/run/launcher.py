"""Commands that start the processes of a job: what becomes of a lease under each, unless `numafit rank` is between."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePath

_MPI = ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun")
_SRUN = "srun"
_TORCH = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
_NUMAFIT, _RANK = "numafit", "rank"


def launcher_note(command: Sequence[str], *, several: bool) -> str:
    """What the user should know of processes that are not bound one by one; empty: nothing. `several`: the job is for
    several processes, or has several devices."""
    if _has_rank(command):
        return ""
    name = PurePath(command[0]).name
    if name == _SRUN:
        return (
            "srun lets Slurm's own daemon start the processes, outside of this job: nothing binds them to the lease, "
            "unless `numafit rank --` stands before the program (with --cpu-bind=none for srun)"
        )
    if name in _MPI:
        return (
            f"{name} binds its processes by its own rules, or not at all: `numafit rank --` before the program (with "
            "--bind-to none for Open MPI) gives each its own part of the lease"
        )
    if several and (name in _TORCH or any(word in _TORCH for word in command[1:3])):
        return (
            "torchrun lets each process use all CPUs of the lease: `numafit rank --` before the program (with "
            "--no-python for torchrun) gives each its own part"
        )
    return ""


def _has_rank(command: Sequence[str]) -> bool:
    """`numafit rank` stands among the words, or in a script that is one of them."""
    words = " ".join(command).split()
    return any(second == _RANK and PurePath(first).name == _NUMAFIT for first, second in pairwise(words))
