"""Changes as somebody types them: `policy=restricted/pod`, `numa=4`, `pods=whole-cpus`."""

from collections.abc import Callable, Mapping
from typing import get_args

import msgspec

from numafit.bits import parse_cpuset
from numafit.cluster.plan.change import EACH_NUMA, PER_GPU, ChangeKind, FleetChange
from numafit.errors import InputError, KubeletError, meant_or_there
from numafit.fleet.simulation.rules import RULES
from numafit.fleet.what_if.shapes import RESHAPES
from numafit.machine.model import Machine
from numafit.settings.options import CPU_OPTION_STAGES, TOPOLOGY_OPTION_STAGES
from numafit.settings.read.loader import ConfigFile
from numafit.settings.validation import TOPOLOGY_POLICIES, TOPOLOGY_SCOPES
from numafit.settings.versions import parse_version

SOURCE = "--change"
MOST_NODES = 100_000
MOST_NUMA = 64
KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)


class ChangeReaders(msgspec.Struct, frozen=True):
    """How what a change names is read: by whoever may open files."""

    machine: Callable[[str], Machine]
    config: Callable[[str], ConfigFile]


def read_change(text: str, readers: ChangeReaders) -> FleetChange:
    """Raises InputError where it is none."""
    word, equals, value = text.partition("=")
    kind = next((own for own in KINDS if own == word), None)
    if kind is None or not equals or not value:
        cure = meant_or_there(word, KINDS) if kind is None else f"like {_EXAMPLES[kind]}"
        raise InputError(f'"{text[:60]}" is no change', source=SOURCE, cure=cure)
    if kind == "machine":
        return FleetChange(kind, value, machine=readers.machine(value))
    if kind == "kubelet":
        return FleetChange(kind, value, config=readers.config(value))
    if not _CHECKS[kind](value):
        raise InputError(f'"{text[:60]}" is no change', source=SOURCE, cure=f"like {_EXAMPLES[kind]}")
    return FleetChange(kind, value)


def is_policy(value: str) -> bool:
    name, slash, scope = value.partition("/")
    return name in TOPOLOGY_POLICIES and (not slash or scope in TOPOLOGY_SCOPES)


def _is_option(known: Mapping[str, object]) -> Callable[[str], bool]:
    return lambda value: value.partition("=")[0] in known


def _is_number(text: str, most: int, least: int = 1) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9 and least <= int(text) <= most


def _is_cpus(value: str) -> bool:
    try:
        return parse_cpuset(value) > 0
    except KubeletError:
        return False


def _is_release(value: str) -> bool:
    # What is wrong with it is told by whoever reads releases.
    parse_version(value)
    return True


def _is_count(value: str) -> bool:
    bare = value.removeprefix("+") if value[:1] == "+" else value.removeprefix("-")
    return _is_number(bare.removesuffix("%"), MOST_NODES) and (not bare.endswith("%") or bare != value)


def _is_pods(value: str) -> bool:
    return value in RESHAPES or (value.startswith(PER_GPU) and _is_number(value.removeprefix(PER_GPU), 1024))


_CHECKS: Mapping[ChangeKind, Callable[[str], bool]] = {
    "policy": is_policy,
    "scope": lambda value: value in TOPOLOGY_SCOPES,
    "cpu-manager": lambda value: value in ("none", "static"),
    "cpu-option": _is_option(CPU_OPTION_STAGES),
    "topology-option": _is_option(TOPOLOGY_OPTION_STAGES),
    "memory-manager": lambda value: value in ("None", "Static"),
    "reserved-cores": lambda value: _is_number(value.removesuffix(EACH_NUMA), 1024),
    "reserved-cpus": _is_cpus,
    "release": _is_release,
    "numa": lambda value: _is_number(value, MOST_NUMA),
    "nodes": _is_count,
    "pods": _is_pods,
    "scheduler": lambda value: value in [rule.name for rule in RULES],
}
_EXAMPLES: Mapping[ChangeKind, str] = {
    "policy": f"policy=restricted/pod; policies are {', '.join(TOPOLOGY_POLICIES)}",
    "scope": "scope=pod or scope=container",
    "cpu-manager": "cpu-manager=static or cpu-manager=none",
    "cpu-option": f"cpu-option=full-pcpus-only; options are {', '.join(CPU_OPTION_STAGES)}, =false takes one away",
    "topology-option": f"topology-option=prefer-closest-numa-nodes; options are {', '.join(TOPOLOGY_OPTION_STAGES)}",
    "memory-manager": "memory-manager=Static or memory-manager=None",
    "reserved-cores": "reserved-cores=2, or reserved-cores=1/numa for one of each NUMA node",
    "reserved-cpus": "reserved-cpus=0-1,48-49",
    "release": "release=1.34",
    "kubelet": "kubelet=FILE",
    "machine": "machine=NAME of the catalogue, a file or a sketch",
    "numa": "numa=4",
    "nodes": "nodes=40, nodes=+2 or nodes=+10%",
    "pods": f"pods={', pods='.join(RESHAPES)} or pods=cpus-per-gpu=8",
    "scheduler": f"scheduler={RULES[0].name}; there are {'; '.join(rule.name for rule in RULES)}",
}
