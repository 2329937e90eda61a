"""What is said of commands that start the processes of a job by themselves, or outside of it."""

import shlex

import pytest

from numafit.host.run.launcher import launcher_note

SRUN = "srun lets Slurm's own daemon start the processes"


def note(line: str, *, several: bool = False) -> str:
    """Of a line as it is typed into a shell."""
    return launcher_note(shlex.split(line), several=several)


@pytest.mark.parametrize("words", ["srun -n 4 ./solver", "/usr/bin/srun true"])
def test_what_srun_starts_is_not_in_the_job(words: str) -> None:
    assert note(words).startswith(SRUN)


@pytest.mark.parametrize(
    "words",
    ["mpirun -n 4 ./solver", "mpiexec ./solver", "/opt/bin/orterun -n 2 a", "mpirun.openmpi a", "mpiexec.hydra a"],
)
def test_mpirun_binds_by_its_own_rules(words: str) -> None:
    """Also by the names that Debian gives to several of them."""
    assert "binds its processes by its own rules, or not at all" in note(words)


@pytest.mark.parametrize(
    ("words", "name", "option"),
    [
        ("torchrun train.py", "torchrun", "--no-python"),
        ("python -m torch.distributed.run train.py", "torchrun", "--no-python"),
        ("python3.11 -u -m torch.distributed.launch train.py", "torchrun", "--no-python"),
        ("python /opt/bin/torchrun train.py", "torchrun", "--no-python"),
        ("accelerate launch train.py", "accelerate", "--no_python"),
        ("python -m accelerate.commands.launch train.py", "accelerate", "--no_python"),
        ("deepspeed --num_gpus 4 train.py", "deepspeed", "--no_python --no_local_rank"),
    ],
)
def test_who_starts_one_python_for_each_gpu_is_told_of_only_where_there_are_several(
    words: str, name: str, option: str
) -> None:
    """With one GPU there is nothing to share out."""
    assert note(words) == ""
    assert note(words, several=True) == (
        f"{name} lets each process use all CPUs of the lease: `numafit rank --` before the program (with {option} for "
        f"{name}) gives each its own part"
    )


@pytest.mark.parametrize(
    "line",
    [
        "env -i -u HOME X=1 srun a",
        "env -S 'X=1 srun a'",
        "timeout -k 30 1h srun a",
        "timeout --signal=TERM -- 1h srun a",
        "nice -n 5 srun a",
        "nice -10 srun a",
        "stdbuf -oL -e 0 srun a",
        "time -p srun a",
        "setsid -w srun a",
        "nohup srun a",
        "taskset -c 0-3 srun a",
        "taskset 0xf srun a",
        "numactl -N 0 --membind=0 srun a",
        "chrt -f 10 srun a",
        "flock -w 10 lock srun a",
        "flock lock -c 'srun a'",
        "sudo -u ann X=1 srun a",
        "xargs -n 1 srun a",
        "uv run --with x srun a",
        "conda run -n env srun a",
        "nohup env X=1 timeout 1h nice srun a",
    ],
)
def test_wrappers_are_looked_through(line: str) -> None:
    assert note(line).startswith(SRUN)


@pytest.mark.parametrize(
    "script",
    [
        "srun a",
        "exec srun a",
        "cd work && X='a b' srun a",
        "module load x; srun a",
        "set -e\n# don't\nsrun a",
        "if true; then srun a; fi",
        "for n in 1 2; do srun -n $n a > out.$n 2>&1; done",
        "true | srun a",
        "(srun a)",
        "found=$(srun a)",
        "echo `srun a`",
        'echo "$(srun a)"',
        "[[ -n $X && $Y ]] && srun a",
        ">out srun a",
        "srun a <<EOF\nx\nEOF\n",
        "timeout 1h bash -c 'srun a'",
        "eval 'srun a'",
        'echo "a\\"b" \\\n c; srun a',
        "OMP_NUM_THREADS=$((4 / 2)) srun -n ${N:-1} a",
        "srun -n $(nproc) a",
        "f() { true; }\nsrun a",
    ],
)
@pytest.mark.parametrize("shell", [["sh", "-c"], ["/bin/bash", "-euo", "pipefail", "-c"], ["env", "bash", "-lc"]])
def test_the_script_of_a_shell_is_read(shell: list[str], script: str) -> None:
    assert launcher_note([*shell, script], several=False).startswith(SRUN)


@pytest.mark.parametrize(
    ("line", "starts"),
    [
        ("docker run -it image", "what docker starts is in a container, outside of this job: nothing binds it"),
        ("docker --context far -D container exec web true", "what docker starts is in a container"),
        ("podman run image", "what podman starts is in a container"),
        ("nerdctl -n k8s.io run image", "what nerdctl starts is in a container"),
        ("ctr tasks start one", "what ctr starts is in a container"),
        ("docker compose -f a.yaml up -d", "what docker starts is in a container"),
        ("docker-compose up", "what docker starts is in a container"),
        ("systemd-run --scope ./solver", "systemd-run puts its command into a unit of its own, outside of this job"),
        ("sbatch job.sh", "sbatch hands its script to Slurm, which runs it outside of this job"),
        ("sh -c 'nohup docker run image numafit rank -- a'", "what docker starts is in a container"),
    ],
)
def test_what_is_started_outside_of_the_job_is_told_of(line: str, starts: str) -> None:
    assert note(line).startswith(starts)


def test_who_starts_a_container_hears_which_command_holds_cpus_for_it() -> None:
    """containerd has none."""
    cures = [
        note(line).partition("(")[2] for line in ("docker run a", "podman start a", "docker compose up", "ctr run a")
    ]
    assert cures == [
        "`numafit docker run` holds CPUs for a container and binds it)",
        "`numafit podman run` holds CPUs for a container and binds it)",
        "`numafit docker compose` writes a file that puts each service on CPUs of its own)",
        "numafit has no command for containerd)",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "srun numafit rank -- ./solver",
        "mpirun --bind-to none /opt/bin/numafit rank ./solver",
        "srun sh -c 'exec numafit rank -- ./solver'",
        "timeout 1h srun numafit rank ./solver",
        "sh -c 'X=1 srun -n $(nproc) numafit rank -- ./solver; echo done'",
        "make -j4",
        "echo srun",
        "env X=srun ./solver",
        "timeout 1h ./solver srun",
        "python train.py torchrun",
        "python -c 'print(\"srun\")'",
        "python -m pytest -k torchrun",
        "accelerate config",
        "docker ps",
        "docker build -t run .",
        "docker image rm run",
        "grep -r docker run",
        "vim docker-compose.yaml",
        "./ctr-solver run",
        "sh srun",
        "command -v srun",
        "taskset -p 0 srun",
        "numafit rank -- mpirun a",
    ],
)
def test_nothing_is_said_where_rank_stands_between_or_nobody_launches(line: str) -> None:
    assert note(line, several=True) == ""


@pytest.mark.parametrize(
    "script",
    [
        "echo srun",
        "echo 'x; srun a'",
        'echo "; srun a"',
        "echo ';' srun",
        "# srun a",
        "echo a # ; srun a",
        "cat <<EOF\nsrun a\nEOF\n",
        "case $X in\nsrun) true ;; esac",
        "case $X in a|srun) true ;; esac",
        "srun() { true; }",
        "words=(srun mpirun)",
        "((srun > 2))",
        "echo ${X:-srun}",
        "echo '$(srun a)'",
        "command -v srun && true",
        "echo > srun",
        "if [ -x srun ]; then true; fi",
        "for x in srun mpirun; do true; done",
        "echo 'not closed; srun",
        "echo $(a $(b); srun)",
        "X=srun",
    ],
)
def test_a_script_that_merely_has_the_word_raises_no_alarm(script: str) -> None:
    """What cannot be followed is left out, too."""
    assert launcher_note(["sh", "-c", script], several=True) == ""


def test_a_script_inside_of_scripts_without_end_is_not_followed_for_ever() -> None:
    script = "srun a"
    for _ in range(6):
        script = f"eval {shlex.quote(script)}"
    assert note(f"sh -c {shlex.quote(script)}").startswith(SRUN)
    assert launcher_note(["env"] * 100_000 + ["srun"], several=False) == ""
