"""What is checked while a kubelet starts, by which values, and what to call a check that was not made.

A path of one name stands for everything below it. `machine` is a value too: of a configuration alone much can be
said, but not whether a machine has what it names.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from numafit.document import Path, field_text
from numafit.errors import KubeletError
from numafit.ledger.state_files import CPU_FILE, MEMORY_FILE
from numafit.settings.config import KubeletConfig
from numafit.settings.eviction import MEMORY_AVAILABLE

MACHINE: Path = ("machine",)
SUM: Path = ("the sum of reservedMemory",)
RESERVED_CPUS: Path = ("the reserved CPUs",)
"""No fields: what a refusal leaves open is not the field, but what will be there after its cure."""
SHARE: Path = ("share of the memory",)
DROP_IN: Path = ("drop-in file",)
ALL: Path = ()
"""The whole configuration file."""

_CPUS: tuple[Path, ...] = (("reservedSystemCPUs",), ("kubeReserved", "cpu"), ("systemReserved", "cpu"))
_MEMORY: tuple[Path, ...] = (
    ("kubeReserved", "memory"),
    ("systemReserved", "memory"),
    ("evictionHard", MEMORY_AVAILABLE),
)


class Unchecked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A check that was not made."""

    check: str
    """One of CHECKS."""
    text: str
    """What it would have told: `whether …`."""
    because: tuple[str, ...]
    """The values that are missing or cannot be believed: fields, `machine`."""
    file: str = ""
    """The file that it is about, where several were given."""


class Check(NamedTuple):
    text: str
    codes: frozenset[str]
    """Refusals that it may end in."""
    inputs: tuple[Path, ...]
    concerns: Callable[[KubeletConfig], bool]
    """Whether there is anything to check."""
    policy: str = ""
    """The field that may say so, if nobody can tell what it says."""
    machine: bool = False
    file: str = ""
    """The state file that it reads."""


def _static_cpus(config: KubeletConfig) -> bool:
    return config.cpu_manager_policy == "static"


def _static_memory(config: KubeletConfig) -> bool:
    return config.memory_manager_policy == "Static"


def _reserves(config: KubeletConfig) -> bool:
    return bool(config.kube_reserved or config.system_reserved or config.reserved_system_cpus)


CHECKS: dict[str, Check] = {
    "drop-ins": Check("what a drop-in file changes", frozenset(), (DROP_IN,), lambda config: True),
    "feature-gates": Check(
        "whether the release knows the feature gates",
        frozenset(),
        (("featureGates",),),
        lambda config: True,
    ),
    "cpu-reservation": Check(
        "whether CPUs are reserved for the static policy",
        frozenset(("cpu-reserve-unknown", "cpu-reserve-zero")),
        (("cpuManagerPolicy",), *_CPUS),
        _static_cpus,
        "cpuManagerPolicy",
    ),
    "reserved-cpus": Check(
        "whether the machine has the reserved CPUs",
        frozenset(("cpus-offline", "cpu-reserve-count", "cpu-reserve-missing")),
        _CPUS,
        lambda config: bool(config.reserved_system_cpus) or (_static_cpus(config) and _reserves(config)),
        "cpuManagerPolicy",
        machine=True,
    ),
    "cpu-option": Check(
        "whether the CPU manager knows each of its policy options",
        frozenset(("cpu-option-unknown", "cpu-option-stage", "cpu-option-bool", "socket-hardware")),
        (("cpuManagerPolicy",),),
        lambda config: bool(config.cpu_manager_policy_options),
    ),
    "cpu-options": Check(
        "whether the CPU policy options go together, and with the policies",
        frozenset(("cpu-options-none", "cpu-options-exclude", "socket-single-numa")),
        (("cpuManagerPolicy",), ("cpuManagerPolicyOptions",)),
        lambda config: len(config.cpu_manager_policy_options or {}) > 1,
    ),
    "topology-options": Check(
        "whether the topology manager takes its policy options",
        frozenset(
            (
                "topology-option-unknown",
                "topology-option-stage",
                "topology-option-bool",
                "topology-option-number",
                "topology-option-minimum",
                "distances",
            )
        ),
        (("topologyManagerPolicy",),),
        lambda config: bool(config.topology_manager_policy_options),
    ),
    "numa-nodes": Check(
        "whether the topology manager takes so many NUMA nodes",
        frozenset(("numa-nodes",)),
        (("topologyManagerPolicy",), ("topologyManagerPolicyOptions", "max-allowable-numa-nodes")),
        lambda config: config.topology_manager_policy != "none",
        "topologyManagerPolicy",
        machine=True,
    ),
    "memory-nodes": Check(
        "whether the machine has the NUMA nodes of reservedMemory",
        frozenset(("memory-node",)),
        (("memoryManagerPolicy",),),
        lambda config: _static_memory(config) and bool(config.reserved_memory),
        "memoryManagerPolicy",
        machine=True,
    ),
    "memory-amounts": Check(
        "whether the memory manager takes each amount of reservedMemory",
        frozenset(("pages-total", "memory-amount")),
        (("memoryManagerPolicy",),),
        lambda config: _static_memory(config) and bool(config.reserved_memory),
        "memoryManagerPolicy",
    ),
    "memory-sum": Check(
        "whether reservedMemory adds up",
        frozenset(("memory-total", "memory-none")),
        (("memoryManagerPolicy",), ("reservedMemory",), *_MEMORY, SHARE),
        _static_memory,
        "memoryManagerPolicy",
    ),
    "capacity": Check(
        "whether the machine has what is reserved",
        frozenset(("capacity",)),
        (*_CPUS, *_MEMORY),
        _reserves,
        machine=True,
    ),
    "cpu-state": Check(
        f"whether {CPU_FILE} fits",
        frozenset(
            (
                "cpu-restore-policy",
                "cpu-state-empty",
                "cpu-state-strict",
                "cpu-state-reserved",
                "cpu-state-overlap",
                "cpu-state-cpus",
            )
        ),
        (("cpuManagerPolicy",), ("cpuManagerPolicyOptions",), *_CPUS, RESERVED_CPUS),
        lambda config: True,
        file=CPU_FILE,
    ),
    "memory-state": Check(
        f"whether {MEMORY_FILE} fits",
        frozenset(
            (
                "memory-restore-policy",
                "memory-state-gone",
                "memory-state-empty",
                "memory-state-differs",
                "memory-state-panic",
            )
        ),
        (("memoryManagerPolicy",), ("reservedMemory",), SUM),
        lambda config: True,
        file=MEMORY_FILE,
    ),
}
"""Checks that stand on several values; each other one is about a value of its own."""

_BY_CODE = {code: check for check in CHECKS.values() for code in check.codes}

Doubts = Mapping[Path, str]
"""Values that are not as a person wrote them -> what to say is missing."""


def said(doubt: Path) -> str:
    """A doubt as people call it."""
    return str(doubt[0]) if doubt in (SUM, RESERVED_CPUS) else field_text(doubt)


def touches(one: Path, other: Path) -> bool:
    """One of them is the other, or lies in it."""
    return all(first == second for first, second in zip(one, other, strict=False))


def doubtful(problem: KubeletError, doubts: Iterable[Path]) -> bool:
    """Whether a refusal may come from a value that nobody wrote."""
    check = _BY_CODE.get(problem.code)
    inputs = check.inputs if check is not None else ()
    return any(
        (doubt and doubt == problem.field[: len(doubt)]) or any(touches(doubt, path) for path in inputs)
        for doubt in doubts
    )


def unchecked(
    config: KubeletConfig, doubts: Doubts, found: Iterable[str], files: Iterable[str], *, machine: bool
) -> tuple[Unchecked, ...]:
    """Checks that concern this configuration and were not made. `found`: the codes of the refusals that were."""
    codes, there = frozenset(found), frozenset(files)
    listed = []
    for name, check in CHECKS.items():
        if check.codes & codes or (check.file and check.file not in there):
            continue
        inputs = (*check.inputs, *((MACHINE,) if check.machine else ()))
        because = dict.fromkeys(
            why for doubt, why in doubts.items() if why and any(touches(doubt, path) for path in inputs)
        )
        if check.machine and not machine:
            because[field_text(MACHINE)] = None
        open_policy = check.policy and any(touches(doubt, (check.policy,)) for doubt in doubts)
        if because and (open_policy or check.concerns(config)):
            listed.append(Unchecked(name, check.text, tuple(because)))
    return tuple(listed)
