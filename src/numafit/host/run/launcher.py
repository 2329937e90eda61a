"""Commands that start the processes of a job: what becomes of a lease under each, unless `numafit rank` is between."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath

_MPI = ("mpirun", "mpiexec", "orterun", "prterun")
"""Also with an ending: Debian has mpirun.openmpi, mpiexec.hydra and more side by side."""
_SRUN, _SYSTEMD_RUN, _SBATCH, _CTR, _NERDCTL = "srun", "systemd-run", "sbatch", "ctr", "nerdctl"
_NO_PYTHON: Mapping[str, str] = {
    "torchrun": "--no-python for torchrun",
    "accelerate": "--no_python for accelerate",
    "deepspeed": "--no_python --no_local_rank for deepspeed",
}
_ALSO: Mapping[str, str] = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate-launch": "accelerate",
    "accelerate.commands.launch": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
}
"""Other names of these."""
_ENGINES = ("docker", "podman", _NERDCTL, _CTR)
_COMPOSE = "compose"
_NUMAFIT, _RANK = "numafit", "rank"

_SIGNS = (*_MPI, _SRUN, _SYSTEMD_RUN, _SBATCH, *_NO_PYTHON, "torch.distributed", *_ENGINES)
"""One of them is among the words of every command that there is something to say of."""

_ENGINE_VALUES = frozenset(
    [
        *("-H", "--host", "-c", "--context", "--config", "-l", "--log-level", "-a", "--address", "-n", "--namespace"),
        *("--connection", "--url", "--identity", "--root", "--runroot", "--cgroup-manager", "--storage-driver"),
        *("-f", "--file", "-p", "--project-name", "--project-directory", "--profile", "--env-file"),
    ]
)
"""Options before the verb whose value is a word of its own."""
_VERBS = ("run", "start", "restart", "exec")
_STARTING = frozenset(
    [
        *((verb,) for verb in _VERBS),
        *((noun, verb) for noun in ("container", "task", "tasks", "t") for verb in _VERBS),
        *(("compose", verb) for verb in ("up", *_VERBS)),
    ]
)


def launcher_note(command: Sequence[str], *, several: bool) -> str:
    """What the user should know of processes that are not bound one by one, or not at all; empty: nothing. `several`:
    the job is for several processes, or has several devices."""
    line = " ".join(command)
    if not any(sign in line for sign in _SIGNS):
        return ""
    # Nearly all commands are none of these, and start quicker without.
    from numafit.host.run.programs import programs

    return next((note for words in programs(command) if (note := _note(words, several=several))), "")


def _note(words: Sequence[str], *, several: bool) -> str:
    """Of one program and its words."""
    name = PurePath(words[0]).name
    engine, _, compose = name.partition("-")
    if engine in _ENGINES and compose in ("", _COMPOSE):
        return _engine_note(engine, words[0 if compose else 1 :])
    if name == _SYSTEMD_RUN:
        return "systemd-run puts its command into a unit of its own, outside of this job: nothing binds it to the lease"
    if name == _SBATCH:
        return "sbatch hands its script to Slurm, which runs it outside of this job: nothing binds it to the lease"
    if _has_rank(words):
        return ""
    if name == _SRUN:
        return (
            "srun lets Slurm's own daemon start the processes, outside of this job: nothing binds them to the lease, "
            "unless `numafit rank --` stands before the program (with --cpu-bind=none for srun)"
        )
    if name.partition(".")[0] in _MPI:
        return (
            f"{name} binds its processes by its own rules, or not at all: `numafit rank --` before the program (with "
            "--bind-to none for Open MPI) gives each its own part of the lease"
        )
    torch = _torch(name, words)
    if several and torch:
        return (
            f"{torch} lets each process use all CPUs of the lease: `numafit rank --` before the program (with "
            f"{_NO_PYTHON[torch]}) gives each its own part"
        )
    return ""


def _torch(name: str, words: Sequence[str]) -> str:
    """Which of those that start one Python for each GPU it is; empty: none."""
    if name == "accelerate":
        return name if "launch" in words[1:2] else ""
    if not name.startswith("python"):
        return name if name in _NO_PYTHON else _ALSO.get(name, "")
    # Behind the first word that is no option stand those of the script.
    place = next((place for place, word in enumerate(words) if place and not word.startswith("-")), 0)
    if not place or words[place - 1] == "-m":
        return _ALSO.get(words[place], "")
    script = PurePath(words[place]).name
    return "" if script.startswith("python") else _torch(script, words[place:])


def _engine_note(name: str, words: Sequence[str]) -> str:
    """`words` are those after the name."""
    verbs: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in _ENGINE_VALUES:
            next(rest, None)
        elif not word.startswith("-"):
            verbs.append(_COMPOSE if word.endswith(_COMPOSE) else word)
            if len(verbs) == 2 or tuple(verbs) in _STARTING:
                break
    if tuple(verbs) not in _STARTING:
        return ""
    cure = f"`numafit {name} run` holds CPUs for a container and binds it"
    if name in (_NERDCTL, _CTR):
        cure = "numafit has no command for containerd"
    elif verbs[0] == _COMPOSE:
        cure = "`numafit docker compose` writes a file that puts each service on CPUs of its own"
    return f"what {name} starts is in a container, outside of this job: nothing binds it to the lease ({cure})"


def _has_rank(words: Sequence[str]) -> bool:
    """`numafit rank` stands among the words, or in a script that is one of them."""
    parts = " ".join(words).split()
    return any(second == _RANK and PurePath(first).name == _NUMAFIT for first, second in pairwise(parts))
