"""`numafit run`: a command on free and aligned CPUs, memory and devices, held for as long as it runs."""

from collections.abc import Sequence

import click

from numafit.cli.host.job import checked, require_command, run_job
from numafit.cli.options.asked import LeaseOptions, seconds_of
from numafit.cli.options.lease import lease_options, time_options
from numafit.cli.options.one_of import OneOf
from numafit.errors import InputError

LINES = ("numactl", "docker", "systemd", "env")


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  numafit run --cpus 8 --memory 32Gi --gpus 2 -- python train.py
  numafit run --cpus 4 --policy single-numa-node --wait=10m -- make -j4
  numafit run --cpus 8 --time 8h --grace 2m -- ./solver
  numafit run --shared -- ./notebook.sh
  numafit run --cpus 8 --omp -- ./openmp-solver
  numafit run --gpus 8 --ranks 8 --cpus-per-rank 4 -- torchrun ... numafit rank -- train.sh
  numafit run --cpus 8 --gpus 2 --dry-run
  numafit run --cpus 8 --print numactl -- ./solver""",
)
@lease_options
@time_options
@click.option("--shared", is_flag=True, help="Run in what nobody holds exclusively, and follow it when it changes.")
@click.option("--strict", is_flag=True, help="Fail when the job cannot be held by a cpuset.")
@click.option("--no-env", is_flag=True, help="Set no variables for the command.")
@click.option("--omp", is_flag=True, help="Pin each thread of one OpenMP program: OMP_PLACES and GOMP_CPU_AFFINITY.")
@click.option("--explain", is_flag=True, help="Say why it was placed there.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing when all goes well.")
@click.option("--dry-run", is_flag=True, help="Print the plan; take and start nothing.")
@click.option("--print", "line", type=OneOf(LINES), help="Print a line for another tool; take nothing.")
@click.option("--machine", "specs", multiple=True, metavar="SPEC", help="With --dry-run or --print: another box.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", help="With --dry-run.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def run(
    lease_options: LeaseOptions,
    time_limit: str | None,
    grace: str | None,
    shared: bool,
    strict: bool,
    no_env: bool,
    omp: bool,
    explain: bool,
    quiet: bool,
    dry_run: bool,
    line: str | None,
    specs: Sequence[str],
    output: str,
    command: Sequence[str],
) -> int:
    """Run COMMAND on CPUs, memory and devices that are free and near each other, and hold them while it runs.

    Without --cpus it runs in the shared pool. Exclusive CPUs are whole cores. Where GPUs lie on several NUMA nodes,
    CPUs and memory go to each of these in proportion, and with --ranks each process has a part of its own. The command
    gets its signals, terminal and exit status as if numafit were not there. What it was bound with is told on standard
    error: a cgroup or a systemd scope where that may be made, else CPU affinity and memory policy.

    Exit status: that of the command; 75 when what was asked for is not free or cannot be aligned; 126 and 127 when the
    command cannot be started; 2 bad input.
    """
    if dry_run or line is not None:
        lease_options = checked(lease_options, time_limit, shared=shared, no_env=no_env, omp=omp)
        seconds_of(grace, "--grace")
        if line in ("numactl", "systemd"):
            require_command(command)
        from numafit.cli.host.plan import show_job_plan

        return show_job_plan(lease_options, specs, line, output, command, explain=explain, omp=omp)
    if specs:
        raise InputError("goes with --dry-run or --print only", source="--machine")
    return run_job(
        lease_options,
        command,
        time_limit=time_limit,
        grace=grace,
        shared=shared,
        strict=strict,
        no_env=no_env,
        omp=omp,
        explain=explain,
        quiet=quiet,
    )
