"""`numafit rank`: one process of a job of several, on its share of the job's CPUs."""

import os
from collections.abc import Sequence

import click

from numafit.bits import cpuset_text, mask_of
from numafit.cli.options.machine import machine_option, resolve_machine
from numafit.cli.options.one_of import OneOf
from numafit.cli.terminal import answer, this_screen, warn
from numafit.errors import InputError
from numafit.host.bind import kernel
from numafit.host.bind.ladder import bind_affinity
from numafit.host.bind.target import Bound, Target
from numafit.host.environment import (
    DEVICES,
    OURS,
    RANK_CPUS,
    RANK_GPU,
    RANK_MEMS,
    merged,
    nvidia_gpus,
    openmp,
    parse_devices,
)
from numafit.host.run.execute import execute, failure, restore_signals
from numafit.host.run.rank import JobResources, Member, find_member, find_resources
from numafit.host.run.share import RankShare, cores_by_node, shares
from numafit.machine.model import Machine
from numafit.show.json import json_text
from numafit.show.records.shares import shares_record
from numafit.show.table import Screen, aligned


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  numafit run --gpus 4 -- torchrun --nproc-per-node 4 --no-python numafit rank -- train.sh
  numafit run --cpus 16 -- mpirun -n 4 --bind-to none numafit rank -- ./solver
  srun --ntasks-per-node 4 --cpu-bind none numafit rank --explain -- ./solver
  LOCAL_RANK=0 LOCAL_WORLD_SIZE=4 numafit rank --dry-run""",
)
@click.option("--dry-run", is_flag=True, help="Print the shares of all processes; start nothing.")
@click.option("--explain", is_flag=True, help="Say on standard error what this process got, and why.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", help="With --dry-run.")
@machine_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def rank(dry_run: bool, explain: bool, output: str, specs: Sequence[str], command: Sequence[str]) -> int:
    """Run COMMAND as one process of a job that torchrun, mpirun or srun started, on its share of the job's lease.

    Process number n gets GPU number n, whole cores on that GPU's NUMA node first, and memory from the nearest node. The
    shares do not overlap and use all of the lease. CUDA_VISIBLE_DEVICES stays as it is: frameworks choose the GPU by
    the local rank themselves. Without a lease the CPUs that the process is allowed are shared out.

    OMP_NUM_THREADS, OMP_PLACES and GOMP_CPU_AFFINITY are set for the share unless you set them. Outside of `numafit
    run` torchrun sets OMP_NUM_THREADS=1 by itself, which looks as if you had: export your own number, or nothing is
    gained from more than one CPU.

    Exit status: that of the command; 126 and 127 when it cannot be started; 2 bad input.
    """
    if not command and not dry_run:
        raise InputError("no command to run", cure="write it after --, like numafit rank -- python train.py")
    if specs and not dry_run:
        raise InputError("goes with --dry-run only", source="--machine")
    if output == "json" and not dry_run:
        raise InputError("goes with --dry-run only", source="-o json")
    member = find_member(os.environ)
    machine = _machine(specs)
    facts = find_resources(os.environ, machine, _allowed(member, machine if specs else None))
    parts = shares(machine, facts.cpus, facts.mems, facts.gpus, member.size)
    if dry_run:
        if output == "json":
            click.echo(json_text(shares_record(member, facts, parts)))
        else:
            screen = this_screen()
            answer(_table(member, facts, parts, screen), screen)
        return 0
    return _become(machine, member, facts, parts[member.rank], command, explain=explain)


def _machine(specs: Sequence[str]) -> Machine:
    """The driver is asked only for what /sys does not tell: many processes start at once."""
    if specs:
        return resolve_machine(specs).machine
    from numafit.host.this_machine import live_machine

    machine = live_machine(devices=False)
    known = {device.id for device in machine.devices}
    try:
        leased = nvidia_gpus(parse_devices(os.environ.get(DEVICES, "")))
    except ValueError:
        leased = []
    return machine if known.issuperset(leased) else live_machine()


def _allowed(member: Member, planned: Machine | None) -> Target:
    if planned is not None:
        online = mask_of(cpu.id for cpu in planned.cpus if cpu.online)
        return Target(online, mask_of(node.id for node in planned.numa_nodes))
    return kernel.allowed_by_cpuset() if member.launcher.binds else kernel.status()


def _become(
    machine: Machine, member: Member, facts: JobResources, share: RankShare, command: Sequence[str], *, explain: bool
) -> int:
    mems = 0 if share.memory_node is None else 1 << share.memory_node
    # Preferred and not bound: a process may need more than its node has left, and the lease is the limit.
    bound = bind_affinity(Target(share.cpus, mems), prefer=True)
    cores = [core for node in cores_by_node(machine, share.cpus).values() for core in node]
    ours = {name: value for name, value in os.environ.items() if name.startswith(OURS)}
    ours |= openmp(share.cpus, cores)
    ours |= {RANK_CPUS: cpuset_text(share.cpus), RANK_MEMS: cpuset_text(mems), RANK_GPU: share.gpu}
    environment, notes = merged(os.environ, ours)
    for note in (*facts.notes, *bound.skipped, *notes) if explain or member.rank == 0 else ():
        warn(note)
    if explain:
        warn(_bound_in_words(member, share, bound))
    restore_signals()
    error = execute(command, environment)
    status, sentence = failure(command[0], error.errno or 0)
    warn(sentence)
    return status


def _bound_in_words(member: Member, share: RankShare, bound: Bound) -> str:
    where = "" if share.gpu_node is None else f" on NUMA node {share.gpu_node}"
    gpu = f"GPU {share.gpu}{where}, " if share.gpu else ""
    memory = f", memory {bound.memory_policy}" if bound.memory_policy else ""
    who = f"process {member.rank} of {member.size} ({member.launcher.name})"
    return f"{who}: {gpu}CPUs {cpuset_text(bound.cpus)}{memory}; bound by {bound.rung}"


def _table(member: Member, facts: JobResources, parts: Sequence[RankShare], screen: Screen) -> str:
    rows = [("", "RANK", "GPU", "GPU NODE", "CPUS", "MEMORY NODE")]
    rows += [
        (
            "*" if share.rank == member.rank else "",
            str(share.rank),
            share.gpu or "-",
            "-" if share.gpu_node is None else str(share.gpu_node),
            cpuset_text(share.cpus),
            "-" if share.memory_node is None else str(share.memory_node),
        )
        for share in parts
    ]
    return "\n".join([aligned(rows, screen=screen), *(f"\n{note}" for note in facts.notes)])
