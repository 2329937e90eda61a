"""What is asked of this host, as it was typed, up to the value that it stands for; without click, so that a job starts
quickly."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec
from msgspec.structs import replace

from numafit.amounts import parse_amount, parse_seconds
from numafit.bits import CpusetError, parse_cpuset
from numafit.errors import InputError
from numafit.host.bind.target import INTERLEAVE
from numafit.host.request import JobRequest, Policy, len_of_main

GPU = "nvidia.com/gpu"
FOREVER = "for ever"
PAGE = 4096
"""Bytes; of what is held there is at least one."""


class LeaseOptions(msgspec.Struct, frozen=True):
    request: JobRequest
    wait: float | None = None
    """Seconds; None: not at all. Infinity: for ever."""
    folder: Path | None = None
    """Of the ledger, when it is not the usual one."""


def lease_asked(
    *,
    cpus: int,
    memory: str | None,
    gpus: int,
    devices: Sequence[str],
    policy: str,
    prefer: Sequence[str],
    name: str,
    wait: str | None,
    priority: int,
    folder: Path | None,
    memory_bind: str | None,
    interleave: bool,
    on_nodes: str | None,
    limit_memory: str | None,
    ranks: int,
    cpus_per_rank: int,
    cpus_per_gpu: int,
    threads: bool,
    like_kubelet: bool,
) -> LeaseOptions:
    wanted = _devices(gpus, devices)
    request = JobRequest(
        cpus=_cpus(cpus, ranks, cpus_per_rank, cpus_per_gpu, wanted, like_kubelet=like_kubelet),
        memory=_amount(memory),
        devices=wanted,
        policy=cast(Policy, policy),
        prefer=tuple(dict.fromkeys(prefer)),
        name=_name(name),
        bind=_way(memory_bind, interleave),
        on_nodes=_nodes(on_nodes),
        limit_memory=_amount(limit_memory, "--limit-memory"),
        threads=threads,
        like_kubelet=like_kubelet,
        ranks=ranks,
        cpus_per_rank=cpus_per_rank,
        cpus_per_gpu=cpus_per_gpu,
        priority=priority,
    )
    _check_limit(request)
    return LeaseOptions(request, seconds_of(wait, "--wait"), folder)


def _cpus(cpus: int, ranks: int, per_rank: int, per_gpu: int, devices: Mapping[str, int], *, like_kubelet: bool) -> int:
    """In all, however they were asked for."""
    given = [
        name for name, value in (("--cpus", cpus), ("--cpus-per-rank", per_rank), ("--cpus-per-gpu", per_gpu)) if value
    ]
    if len(given) > 1:
        raise InputError(f"goes without {given[0]}: both say how many CPUs there are", source=given[1])
    if like_kubelet and (ranks or per_rank or per_gpu):
        option = "--ranks" if ranks else given[0]
        raise InputError("a kubelet knows nothing of it", source=option, cure="leave it or --like-kubelet away")
    if per_rank and not ranks:
        raise InputError("says nothing without a number of ranks", source="--cpus-per-rank", cure="add --ranks N")
    gpus = len_of_main(devices)
    if per_gpu and not gpus:
        raise InputError("says nothing without GPUs", source="--cpus-per-gpu", cure="add --gpus N")
    return cpus or per_rank * ranks or per_gpu * gpus


def _amount(text: str | None, option: str = "--memory") -> int:
    if text is None:
        return 0
    try:
        amount = parse_amount(text)
    except ValueError as error:
        raise InputError(str(error), source=option, cure="write it like 32Gi") from None
    if 0 < amount < PAGE:
        # Others count in megabytes where no unit is given.
        words = f"{amount} byte{'s are' if amount != 1 else ' is'} less than a page of memory"
        raise InputError(words, source=option, cure=f"write it like {text}Mi" if text.isdecimal() else "")
    return amount


def _way(memory_bind: str | None, interleave: bool) -> str:
    if interleave and memory_bind not in (None, INTERLEAVE):
        raise InputError(f"does not go with --memory-bind {memory_bind}", source="--interleave")
    return INTERLEAVE if interleave else memory_bind or ""


def _nodes(text: str | None) -> int:
    if text is None:
        return 0
    try:
        nodes = parse_cpuset(text)
    except CpusetError as error:
        raise InputError(str(error), source="--node", cure="write it like 0 or 0,2-3") from None
    if not nodes or nodes.bit_length() > 64:
        raise InputError(f'"{text[:40]}" names no NUMA node', source="--node", cure="write it like 0 or 0,2-3")
    return nodes


def _check_limit(request: JobRequest) -> None:
    if 0 < request.limit_memory < request.memory:
        words = "a job may not hold more memory than it may use"
        raise InputError(words, source="--limit-memory", cure="give at least as much as --memory")


def _devices(gpus: int, specs: Sequence[str]) -> dict[str, int]:
    wanted = {GPU: gpus} if gpus else {}
    for spec in specs:
        resource, equals, count = spec.partition("=")
        if not equals or "/" not in resource or not (count.isascii() and count.isdecimal()) or len(count) > 6:
            raise InputError(
                "is not RESOURCE=N", source="--device", field=spec, cure="write it like example.com/fpga=1"
            )
        if resource in wanted:
            raise InputError(f"{resource} is asked for twice", source="--device")
        wanted[resource] = int(count)
    return {resource: count for resource, count in wanted.items() if count}


def _name(text: str) -> str:
    if len(text) > 100 or not text.isprintable():
        raise InputError("a name of at most 100 printable characters is needed", source="--name")
    return text


def limited(options: LeaseOptions, time_limit: str | None) -> LeaseOptions:
    """With `--time`."""
    seconds = seconds_of(time_limit, "--time")
    if seconds is None:
        return options
    if not seconds:
        raise InputError("a job needs some time", source="--time", cure="write it like 90s, 5m or 2h")
    return replace(options, request=replace(options.request, seconds=seconds))


def seconds_of(text: str | None, source: str) -> float | None:
    """None: it was not given."""
    if text is None:
        return None
    if text == FOREVER:
        return float("inf")
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise InputError(str(error), source=source, cure="write it like 90s, 5m or 2h") from None
