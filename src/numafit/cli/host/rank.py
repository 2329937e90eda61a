"""`numafit rank`: one process of a job of several, on its share of the job's CPUs."""

import os
from collections.abc import Sequence
from contextlib import suppress

import click

from numafit.bits import cpuset_text, mask_of
from numafit.cli.options.machine import machine_option, resolve_machine
from numafit.cli.options.one_of import OneOf
from numafit.cli.terminal import answer, this_screen
from numafit.cli.warning import warn
from numafit.errors import InputError
from numafit.host.bind import kernel
from numafit.host.bind.ladder import bind_affinity
from numafit.host.bind.target import PREFER, Bound, Target
from numafit.host.environment import (
    DEVICES,
    HOST,
    LEASE,
    OURS,
    RANK_CPUS,
    RANK_GPU,
    RANK_MEMS,
    RANK_NIC,
    merged,
    nvidia_gpus,
    openmp,
    parse_devices,
)
from numafit.host.host import host_of
from numafit.host.run.rank import Member, find_member, find_resources, shares_of
from numafit.host.run.share import RankShare, cores_by_node
from numafit.host.wake.execute import execute, failure, restore_signals
from numafit.machine.model import Machine
from numafit.show.json import json_text
from numafit.show.records.shares import shares_record
from numafit.show.table import Screen, aligned


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  numafit run --gpus 4 --ranks 4 -- torchrun --no-python ... numafit rank -- train.sh
  numafit run --ranks 4 --cpus 16 -- mpirun -n 4 --bind-to none numafit rank -- ./solver
  srun --ntasks-per-node 4 --cpu-bind none numafit rank --explain -- ./solver
  LOCAL_RANK=0 LOCAL_WORLD_SIZE=4 numafit rank --dry-run""",
)
@click.option("--dry-run", is_flag=True, help="Print the shares of all processes; start nothing.")
@click.option("--explain", is_flag=True, help="Say on standard error what this process got, and why.")
@click.option("--omp", is_flag=True, help="Pin each thread of one OpenMP program: OMP_PLACES and GOMP_CPU_AFFINITY.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", help="With --dry-run.")
@machine_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def rank(dry_run: bool, explain: bool, omp: bool, output: str, specs: Sequence[str], command: Sequence[str]) -> int:
    """Run COMMAND as one process of a job that torchrun, mpirun or srun started, on its share of the job's lease.

    Process number n takes part number n of a lease with --ranks. Else it gets GPU number n, whole cores on that GPU's
    NUMA node first, and memory from the nearest node; the shares do not overlap and use all of the lease.
    CUDA_VISIBLE_DEVICES stays as it is: frameworks choose the GPU by the local rank themselves. Without a lease the
    CPUs that the process is allowed are shared out.

    OMP_NUM_THREADS is set for the share unless you set it, and with --omp OMP_PLACES and GOMP_CPU_AFFINITY. Outside of
    `numafit run` torchrun sets OMP_NUM_THREADS=1 by itself, which looks as if you had: export your own number, or
    nothing is gained from more than one CPU.

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
    allowed = _allowed(member, machine if specs else None)
    facts = find_resources(os.environ, machine, allowed, os.uname().nodename)
    parts, notes = shares_of(machine, facts, member.size)
    if dry_run:
        if output == "json":
            click.echo(json_text(shares_record(member, facts, parts, notes)))
        else:
            screen = this_screen()
            answer(_table(member, notes, parts, screen), screen)
        return 0
    return _become(machine, member, notes, parts[member.rank], command, explain=explain, omp=omp)


def _machine(specs: Sequence[str]) -> Machine:
    """With the devices of the host file. The driver is asked only for what /sys and that do not tell: many processes
    start at once."""
    if specs:
        return resolve_machine(specs).machine
    from numafit.host.this_machine import live_machine

    machine = _with_host_file(live_machine(devices=False))
    known = {device.id for device in machine.devices}
    try:
        leased = nvidia_gpus(parse_devices(os.environ.get(DEVICES, "")))
    except ValueError:
        leased = []
    return machine if known.issuperset(leased) else _with_host_file(live_machine())


def _with_host_file(machine: Machine) -> Machine:
    """With the devices that the administrator names. Most hosts have no such file, and many processes start at once."""
    from numafit.host.book.folder import NoLedgerError, ledger_folder

    with suppress(NoLedgerError):
        folder = ledger_folder(reading=True)
        if os.path.exists(folder / "host.yaml"):
            from numafit.host.host_file import read_host_file

            return host_of(machine, read_host_file(folder, machine)).machine
    return machine


def _allowed(member: Member, planned: Machine | None) -> Target:
    if planned is not None:
        online = mask_of(cpu.id for cpu in planned.cpus if cpu.online)
        return Target(online, mask_of(node.id for node in planned.numa_nodes))
    # Who loads an OpenMP library may be pinned by it, and all that he starts: a lease says what the job has.
    leased = bool(os.environ.get(LEASE)) and os.environ.get(HOST, os.uname().nodename) == os.uname().nodename
    return kernel.allowed_by_cpuset() if member.launcher.binds or leased else kernel.status()


def _become(
    machine: Machine,
    member: Member,
    told: Sequence[str],
    share: RankShare,
    command: Sequence[str],
    *,
    explain: bool,
    omp: bool,
) -> int:
    mems = 0 if share.memory_node is None else 1 << share.memory_node
    # Preferred and not bound: a process may need more than its node has left, and the lease is the limit.
    bound = bind_affinity(Target(share.cpus, mems, PREFER))
    cores = [core for node in cores_by_node(machine, share.cpus).values() for core in node]
    ours = {name: value for name, value in os.environ.items() if name.startswith(OURS)}
    ours |= openmp(share.cpus, cores, pinned=omp)
    ours |= {RANK_CPUS: cpuset_text(share.cpus), RANK_MEMS: cpuset_text(mems), RANK_GPU: share.gpu}
    ours |= {RANK_NIC: share.nic} if share.nic else {}
    environment, notes = merged(os.environ, ours)
    for note in (*told, *bound.skipped, *notes) if explain or member.rank == 0 else ():
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
    nic = f"NIC {share.nic}, " if share.nic else ""
    gpu = f"GPU {share.gpu}{where}, {nic}" if share.gpu else ""
    memory = f", memory {bound.memory_policy}" if bound.memory_policy else ""
    who = f"process {member.rank} of {member.size} ({member.launcher.name})"
    return f"{who}: {gpu}CPUs {cpuset_text(bound.cpus)}{memory}; bound by {bound.rung}"


def _table(member: Member, notes: Sequence[str], parts: Sequence[RankShare], screen: Screen) -> str:
    cards = any(share.nic for share in parts)
    rows = [("", "RANK", "GPU", "GPU NODE", "CPUS", "MEMORY NODE", *(["NIC"] if cards else []))]
    rows += [
        (
            "*" if share.rank == member.rank else "",
            str(share.rank),
            share.gpu or "-",
            "-" if share.gpu_node is None else str(share.gpu_node),
            cpuset_text(share.cpus),
            "-" if share.memory_node is None else str(share.memory_node),
            *([share.nic or "-"] if cards else []),
        )
        for share in parts
    ]
    return "\n".join([aligned(rows, screen=screen), *(f"\n{note}" for note in notes)])
