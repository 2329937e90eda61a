"""The variables that a command finds in its environment: what numafit adds for a lease, what stands against the
user's own, and what the variables of a running job tell of its lease, enough to enter it into a ledger again.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from numafit.bits import CpusetError, cpuset_text, mask_of, members, parse_cpuset
from numafit.host.lease import Lease, LeasePart
from numafit.ledger.block import Block

LEASE = "NUMAFIT_LEASE"
CPUS = "NUMAFIT_CPUS"
MEMS = "NUMAFIT_MEMS"
NODES = "NUMAFIT_NODES"
DEVICES = "NUMAFIT_DEVICES"
RANK_CPUS = "NUMAFIT_RANK_CPUS"
RANK_MEMS = "NUMAFIT_RANK_MEMS"
RANK_GPU = "NUMAFIT_RANK_GPU"
RANK_NIC = "NUMAFIT_RANK_NIC"
"""The share of one process of a job, where `numafit rank` started it."""
OURS = "NUMAFIT_"
OF_LEASE = {LEASE, CPUS, MEMS, NODES, DEVICES, RANK_CPUS, RANK_MEMS, RANK_GPU, RANK_NIC} | {
    OURS + name for name in ("MEMORY", "SHARED", "NAME", "BIND", "LIMIT_MEMORY", "SHARES", "HOST")
}
"""Facts of one lease, of no use to another. Other names with our prefix are settings of the user's."""

CUDA = "CUDA_VISIBLE_DEVICES"
NVIDIA = "NVIDIA_VISIBLE_DEVICES"
THREADS = "OMP_NUM_THREADS"
PLACES = "OMP_PLACES"
GOMP = "GOMP_CPU_AFFINITY"
OPENMP = (THREADS, PLACES, GOMP)

_NVIDIA_RESOURCE = r"nvidia\.com/(?:gpu|mig-[a-z0-9.]+)(?:\.shared)?"
_UUID = r"(?:GPU|MIG)-.+"
_ESCAPED = r"[%,;=\s]"
# Compiled by who meets a list of CPUs, which is seldom.
_GOMP_ITEM = r"([0-9]{1,6})(?:-([0-9]{1,6})(?::([1-9][0-9]{0,5}))?)?"
_PLACE = r"\{([^{}]*)\}((?::-?[0-9]{1,6}){0,2})"
_INTERVAL = r"([0-9]{1,6})(?::([0-9]{1,6})(?::(-?[0-9]{1,6}))?)?"
_LARGEST = 1 << 13
"""No machine has CPUs above; a longer list is cut there."""
_MOST_PLACED = 1 << 16


def variables(
    *,
    lease: str,
    cpus: int,
    mems: int,
    nodes: int = 0,
    exclusive: bool = True,
    devices: Mapping[str, Sequence[str]] | None = None,
    cores: Iterable[int] = (),
    omp: bool = False,
) -> dict[str, str]:
    """`nodes` are the NUMA nodes of the CPUs, `cores` the CPU sets of the machine's cores. CPUs of the shared pool come
    and go: programs are not told their number then."""
    devices = devices or {}
    added = {
        LEASE: lease,
        CPUS: cpuset_text(cpus),
        MEMS: cpuset_text(mems),
        NODES: cpuset_text(nodes),
        DEVICES: devices_text(devices),
    }
    gpus = nvidia_gpus(devices)
    # By UUID or not at all: a number means another GPU wherever fewer of them are visible.
    if gpus and all(re.fullmatch(_UUID, gpu) for gpu in gpus):
        added[CUDA] = added[NVIDIA] = ",".join(gpus)
    return added | openmp(cpus, cores, pinned=omp) if exclusive and cpus else added


def openmp(cpus: int, cores: Iterable[int], *, pinned: bool) -> dict[str, str]:
    """One thread per CPU. MKL, OpenBLAS, BLIS and numexpr go by this number, too, where theirs is not set; set, theirs
    would win over an OMP_NUM_THREADS that a script inside the job chooses.

    `pinned`: each with its place, the threads of a core side by side. Only for a job that is one OpenMP program:
    libgomp then pins the main thread of every program to the first place as it is loaded, and what that thread starts
    (a pool of workers, another program) stays on one CPU."""
    order = by_core(cpus, cores)
    count = {THREADS: str(len(order))}
    if not pinned:
        return count
    return count | {PLACES: ",".join(f"{{{cpu}}}" for cpu in order), GOMP: ",".join(map(str, order))}


def by_core(cpus: int, cores: Iterable[int]) -> list[int]:
    """The CPUs, cores by their lowest CPU; those of no known core count as a core each."""
    parts = [core & cpus for core in cores if core & cpus]
    rest = cpus & ~mask_of(cpu for part in parts for cpu in members(part))
    parts += [1 << cpu for cpu in members(rest)]
    return [cpu for part in sorted(parts, key=lambda part: part & -part) for cpu in members(part)]


def nvidia_gpus(devices: Mapping[str, Sequence[str]]) -> list[str]:
    """Each once: the device plugin offers a GPU that is shared as `GPU-…::0`, `GPU-…::1` and so on."""
    ids = [id for resource, ids in devices.items() if re.fullmatch(_NVIDIA_RESOURCE, resource) for id in ids]
    return list(dict.fromkeys(id.partition("::")[0] for id in ids))


def devices_text(devices: Mapping[str, Sequence[str]]) -> str:
    """`RESOURCE=ID,ID;RESOURCE=ID`; what would be taken for a separator stands as %XX."""
    return ";".join(f"{_escaped(resource)}={','.join(map(_escaped, ids))}" for resource, ids in devices.items() if ids)


def parse_devices(text: str) -> dict[str, tuple[str, ...]]:
    """The opposite of `devices_text`. Raises `ValueError` with a reason."""
    devices: dict[str, tuple[str, ...]] = {}
    for part in text.split(";") if text else ():
        resource, equals, ids = part.partition("=")
        if not resource or not equals or not ids:
            raise ValueError(f'"{part[:80]}" is not RESOURCE=ID,…')
        devices[_plain(resource)] = tuple(map(_plain, ids.split(",")))
    return devices


def _escaped(text: str) -> str:
    return re.sub(_ESCAPED, lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)


def _plain(text: str) -> str:
    data = re.sub(rb"%([0-9A-F]{2})", lambda found: bytes([int(found[1], 16)]), text.encode("utf-8", "surrogateescape"))
    return data.decode("utf-8", "surrogateescape")


def merged(user: Mapping[str, str], ours: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The environment of the command, and a sentence for each variable of the user's that contradicts ours. The user's
    are kept. Those that a lease around this process put there are not the user's: ours take their place, and advice
    about its CPUs goes, while its GPUs stay the visible ones where we name none."""
    outer = {name for name in inherited(user) if name in ours or name in OPENMP}
    outer |= OF_LEASE | {name for name in ours if name.startswith(OURS)}
    kept = {name: value for name, value in user.items() if name not in outer}
    notes = []
    for name, value in ours.items():
        if name in kept and (against := _against(name, kept[name], value, ours)):
            notes.append(f"{name}={kept[name]} of your environment is kept, but {against}")
    return {**ours, **kept}, notes


def inherited(environment: Mapping[str, str]) -> set[str]:
    """The variables that have the value which a lease around this process gave them."""
    try:
        sets = [cpus for name in (CPUS, RANK_CPUS) if (cpus := parse_cpuset(environment.get(name, "")))]
        gpus = nvidia_gpus(parse_devices(environment.get(DEVICES, "")))
    except (CpusetError, ValueError):
        return set()
    found = {name for name in (CUDA, NVIDIA) if gpus and environment.get(name) == ",".join(gpus)}
    if environment.get(THREADS) in [str(cpus.bit_count()) for cpus in sets]:
        found.add(THREADS)
    return found | {name for name in (PLACES, GOMP) if _cpus_of(name, environment.get(name, "")) in sets}


def _against(name: str, value: str, ours: str, all_ours: Mapping[str, str]) -> str:
    """Why the user's value does not go with the lease; empty when it does."""
    if value == ours:
        return ""
    if name in (CUDA, NVIDIA):
        return _other_gpus(value, ours.split(","))
    if name == THREADS:
        return "there is 1 CPU for it" if ours == "1" else f"there are {ours} CPUs for it"
    if name in (PLACES, GOMP):
        wanted = _cpus_of(name, value)
        have = parse_cpuset(all_ours.get(RANK_CPUS) or all_ours.get(CPUS, ""))
        if wanted is not None and wanted & ~have:
            return f"the CPUs {cpuset_text(wanted & ~have)} are not among its own, {cpuset_text(have)}"
    return ""


def _other_gpus(value: str, gpus: Sequence[str]) -> str:
    named = [item.strip() for item in value.split(",")]
    if all(named) and any(item.isdecimal() for item in named):
        return "it counts GPUs by number, and the lease names them by UUID"
    # CUDA takes the first letters of a UUID for the whole.
    if all(named) and all(any(gpu.startswith(item) for gpu in gpus) for item in named):
        return ""
    return f"the lease has the GPUs {', '.join(gpus)}"


def _cpus_of(name: str, value: str) -> int | None:
    """The CPUs that a list names; None where it names none, such as `cores`, or makes no sense."""
    return _gomp_cpus(value) if name == GOMP else _place_cpus(value)


def _gomp_cpus(value: str) -> int | None:
    cpus = 0
    items = value.replace(",", " ").split()
    for item in items:
        found = re.fullmatch(_GOMP_ITEM, item)
        if found is None:
            return None
        first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        cpus |= mask_of(range(first, min(last, _LARGEST) + 1, step))
    return cpus if items else None


def _place_cpus(value: str) -> int | None:
    """`{0,1},{2:2},{4}:3:2`: lists of CPUs and `start:count:step`, of CPUs inside and of places outside."""
    text = value.replace(" ", "")
    places = list(re.finditer(_PLACE, text))
    if not places or ",".join(place[0] for place in places) != text:
        return None
    cpus = 0
    for place in places:
        first: list[int] = []
        for item in place[1].split(","):
            found = re.fullmatch(_INTERVAL, item)
            if found is None:
                return None
            first += _run(int(found[1]), int(found[2] or 1), int(found[3] or 1))
        repeated = [int(part) for part in place[2].split(":")[1:]]
        count = repeated[0] if repeated else 1
        if len(first) * count > _MOST_PLACED:
            return None
        step = repeated[1] if len(repeated) > 1 else len(first)
        cpus |= mask_of(cpu for start in first for cpu in _run(start, count, step))
    return cpus


def _run(start: int, count: int, step: int) -> list[int]:
    numbers = (start + step * i for i in range(min(count, _LARGEST)))
    return [number for number in numbers if 0 <= number <= _LARGEST]


MEMORY = "NUMAFIT_MEMORY"
"""`BYTES@NODES` for each block that is held."""
SHARED = "NUMAFIT_SHARED"
NAME = "NUMAFIT_NAME"
BIND = "NUMAFIT_BIND"
LIMIT = "NUMAFIT_LIMIT_MEMORY"
SHARES = "NUMAFIT_SHARES"
"""`CPUS@NODES@DEVICE,DEVICE` for each process of the job, by its number, where their number was given."""
HOST = "NUMAFIT_HOST"
"""Launchers carry variables to other hosts, where the lease means nothing."""


def lease_variables(lease: Lease, cpus: int, cores: Iterable[int], *, omp: bool = False) -> dict[str, str]:
    """`cpus` are those that the job is bound to; `cores` the CPU sets of the machine's cores. `omp` pins threads."""
    added = variables(
        lease=lease.id,
        cpus=cpus,
        mems=lease.mems,
        nodes=lease.nodes,
        exclusive=bool(lease.exclusive),
        devices=lease.devices,
        cores=cores,
        omp=omp,
    )
    if lease.memory:
        added[MEMORY] = ";".join(f"{block.size}@{cpuset_text(mask_of(block.numa))}" for block in lease.memory)
    if lease.bind != "bind":
        added[BIND] = lease.bind
    if lease.limit_memory:
        added[LIMIT] = str(lease.limit_memory)
    if lease.pooled:
        added[SHARED] = "1"
    if lease.name:
        added[NAME] = lease.name
    if lease.shares:
        added[SHARES] = shares_text(lease.shares)
    return added


def lease_told(environment: Mapping[str, str]) -> Lease | None:
    """Without owners and times; None when the variables make no sense."""
    try:
        cpus = parse_cpuset(environment.get(CPUS, ""))
        return Lease(
            id=environment[LEASE],
            name=environment.get(NAME, ""),
            uid=0,
            user="",
            since=0.0,
            exclusive=0 if environment.get(SHARED) else cpus,
            bound=cpus,
            nodes=parse_cpuset(environment.get(NODES, "")),
            mems=parse_cpuset(environment.get(MEMS, "")),
            memory=_blocks(environment.get(MEMORY, "")),
            devices=parse_devices(environment.get(DEVICES, "")),
            bind=environment.get(BIND, "bind"),
            limit_memory=int(environment.get(LIMIT, "0")),
            shares=parse_shares(environment.get(SHARES, "")),
        )
    except (KeyError, ValueError, CpusetError):
        return None


def _blocks(text: str) -> tuple[Block, ...]:
    blocks = []
    for part in text.split(";") if text else ():
        size, _, nodes = part.partition("@")
        blocks.append(Block(tuple(members(parse_cpuset(nodes))), "memory", int(size)))
    return tuple(blocks)


def shares_text(shares: Sequence[LeasePart]) -> str:
    return ";".join(f"{one.cpus}@{one.mems}@{','.join(map(_escaped, one.devices))}" for one in shares)


def parse_shares(text: str) -> tuple[LeasePart, ...]:
    """The opposite of `shares_text`. Raises `ValueError` or `CpusetError` with a reason."""
    shares = []
    for part in text.split(";") if text else ():
        cpus, *rest = part.split("@", 2)
        if len(rest) != 2 or not parse_cpuset(cpus):
            raise ValueError(f'"{part[:80]}" is not CPUS@NODES@DEVICES')
        parse_cpuset(rest[0])
        shares.append(LeasePart(cpus, rest[0], tuple(map(_plain, rest[1].split(","))) if rest[1] else ()))
    return tuple(shares)
