"""What is said of commands that start the processes of a job by themselves."""

import pytest

from numafit.host.run.launcher import launcher_note


@pytest.mark.parametrize("words", ["srun -n 4 ./solver", "/usr/bin/srun true"])
def test_what_srun_starts_is_not_in_the_job(words: str) -> None:
    assert launcher_note(words.split(), several=False).startswith("srun lets Slurm's own daemon start the processes")


@pytest.mark.parametrize("words", ["mpirun -n 4 ./solver", "mpiexec ./solver", "/opt/bin/orterun -n 2 a"])
def test_mpirun_binds_by_its_own_rules(words: str) -> None:
    assert "binds its processes by its own rules, or not at all" in launcher_note(words.split(), several=False)


@pytest.mark.parametrize("words", ["torchrun train.py", "python -m torch.distributed.run train.py"])
def test_torchrun_is_told_of_only_where_there_are_several(words: str) -> None:
    """With one GPU there is nothing to share out."""
    assert launcher_note(words.split(), several=False) == ""
    assert launcher_note(words.split(), several=True).startswith("torchrun lets each process use all CPUs")


@pytest.mark.parametrize(
    "command",
    [
        ["srun", "numafit", "rank", "--", "./solver"],
        ["mpirun", "--bind-to", "none", "/opt/bin/numafit", "rank", "./solver"],
        ["srun", "sh", "-c", "exec numafit rank -- ./solver"],
        ["make", "-j4"],
        ["echo", "srun"],
    ],
    ids=" ".join,
)
def test_nothing_is_said_where_rank_stands_between_or_nobody_launches(command: list[str]) -> None:
    assert launcher_note(command, several=True) == ""
