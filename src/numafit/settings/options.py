"""The policy options of the CPU manager and the topology manager: which release knows them, and what they say."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from numafit.errors import FieldPath, KubeletError
from numafit.golang.text import in_byte_order, parse_bool, parse_int, quoted
from numafit.settings.settings import Settings

CPU_OPTIONS = "cpuManagerPolicyOptions"
TOPOLOGY_OPTIONS = "topologyManagerPolicyOptions"

OptionStage = Literal["alpha", "beta", "stable"]
OptionStages = Mapping[str, Mapping[int, OptionStage]]

FULL_PCPUS_ONLY = "full-pcpus-only"
DISTRIBUTE_CPUS_ACROSS_NUMA = "distribute-cpus-across-numa"
ALIGN_BY_SOCKET = "align-by-socket"
DISTRIBUTE_CPUS_ACROSS_CORES = "distribute-cpus-across-cores"
STRICT_CPU_RESERVATION = "strict-cpu-reservation"
PREFER_ALIGN_CPUS_BY_UNCORECACHE = "prefer-align-cpus-by-uncorecache"
PREFER_CLOSEST_NUMA_NODES = "prefer-closest-numa-nodes"
MAX_ALLOWABLE_NUMA_NODES = "max-allowable-numa-nodes"

CPU_OPTION_STAGES: OptionStages = {
    FULL_PCPUS_ONLY: {22: "alpha", 23: "beta", 33: "stable"},
    DISTRIBUTE_CPUS_ACROSS_NUMA: {23: "alpha", 33: "beta"},
    ALIGN_BY_SOCKET: {25: "alpha"},
    DISTRIBUTE_CPUS_ACROSS_CORES: {31: "alpha"},
    STRICT_CPU_RESERVATION: {32: "alpha", 33: "beta", 35: "stable"},
    PREFER_ALIGN_CPUS_BY_UNCORECACHE: {32: "alpha", 34: "beta", 36: "stable"},
}
"""Option -> the minor in which a stage begins."""

TOPOLOGY_OPTION_STAGES: OptionStages = {
    PREFER_CLOSEST_NUMA_NODES: {26: "alpha", 28: "beta", 32: "stable"},
    MAX_ALLOWABLE_NUMA_NODES: {31: "beta", 35: "stable"},
}

_INCOMPATIBLE = (
    (FULL_PCPUS_ONLY, DISTRIBUTE_CPUS_ACROSS_CORES),
    (DISTRIBUTE_CPUS_ACROSS_NUMA, DISTRIBUTE_CPUS_ACROSS_CORES),
    (PREFER_ALIGN_CPUS_BY_UNCORECACHE, DISTRIBUTE_CPUS_ACROSS_CORES),
    (PREFER_ALIGN_CPUS_BY_UNCORECACHE, DISTRIBUTE_CPUS_ACROSS_NUMA),
)

DEFAULT_MAX_NODES = 8
"""The largest number of NUMA nodes that a topology policy takes without `max-allowable-numa-nodes`."""


class CpuOptions(msgspec.Struct, frozen=True):
    full_pcpus_only: bool = False
    distribute_cpus_across_numa: bool = False
    align_by_socket: bool = False
    distribute_cpus_across_cores: bool = False
    strict_cpu_reservation: bool = False
    prefer_align_cpus_by_uncorecache: bool = False


class TopologyOptions(msgspec.Struct, frozen=True):
    prefer_closest: bool = False
    max_nodes: int = DEFAULT_MAX_NODES


def stage_of(option: str, stages: OptionStages, minor: int) -> OptionStage | None:
    """None when the release does not know the option."""
    reached = [stage for first, stage in stages.get(option, {}).items() if first <= minor]
    return reached[-1] if reached else None


def _known(stages: OptionStages, minor: int) -> str:
    return ", ".join(option for option in stages if stage_of(option, stages, minor) is not None)


def cpu_options(settings: Settings) -> CpuOptions:
    """The options of the static policy; the caller puts `new static policy error: ` before an error.

    The kubelet walks a Go map in random order, so with several bad options any one of their errors comes first. Here
    the first in byte order does. The check that needs the machine (sockets against NUMA nodes) is the policy's own.
    """
    if not settings.behaviour.cpu_options:
        return CpuOptions()
    values: dict[str, bool] = {}
    for option in in_byte_order(settings.cpu_options):
        value = settings.cpu_options[option]
        _check_cpu_option(option, value, settings)
        values[option] = _option_bool(option, value, code="cpu-option-bool", field=(CPU_OPTIONS, option))
    for first, second in _INCOMPATIBLE:
        if values.get(first) and values.get(second):
            raise KubeletError(
                f"static policy options {first} and {second} can not be used at the same time",
                code="cpu-options-exclude",
                field=(CPU_OPTIONS,),
                facts={"first": first, "second": second},
            )
    if values.get(ALIGN_BY_SOCKET) and settings.topology_policy == "single-numa-node":
        raise socket_single_numa()
    return CpuOptions(**{option.replace("-", "_"): value for option, value in values.items()})


def socket_single_numa() -> KubeletError:
    """Both the options and the policy look for it."""
    return KubeletError(
        "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option",
        code="socket-single-numa",
        field=(CPU_OPTIONS, ALIGN_BY_SOCKET),
    )


def topology_options(settings: Settings) -> TopologyOptions:
    """The options of the topology manager, in byte order too. Since 1.28 policy none does not look at them."""
    behaviour = settings.behaviour
    if not behaviour.topology_options or (behaviour.none_checks_nothing and settings.topology_policy == "none"):
        return TopologyOptions()
    options = TopologyOptions()
    for option in in_byte_order(settings.topology_options):
        value = settings.topology_options[option]
        _check_topology_option(option, settings)
        if option == PREFER_CLOSEST_NUMA_NODES:
            prefer = _option_bool(option, value, code="topology-option-bool", field=(TOPOLOGY_OPTIONS, option))
            options = msgspec.structs.replace(options, prefer_closest=prefer)
        else:
            options = msgspec.structs.replace(options, max_nodes=_max_nodes(option, value))
    return options


def _check_cpu_option(option: str, value: str, settings: Settings) -> None:
    stage = stage_of(option, CPU_OPTION_STAGES, settings.version.minor)
    field = (CPU_OPTIONS, option)
    known = {"known": _known(CPU_OPTION_STAGES, settings.version.minor)}
    if not settings.behaviour.cpu_option_stages:
        if stage is None:
            text = f"unsupported cpumanager option: {quoted(option)} ({value})"
            raise KubeletError(text, code="cpu-option-unknown", field=field, facts=known)
        return
    if stage is None:
        text = f"unknown CPU Manager Policy option: {quoted(option)}"
        raise KubeletError(text, code="cpu-option-unknown", field=field, facts=known)
    gate = f"CPUManagerPolicy{stage.capitalize()}Options"
    if stage != "stable" and not settings.gate(gate):
        raise KubeletError(
            f"CPU Manager Policy {stage.capitalize()}-level Options not enabled, but option {quoted(option)} provided",
            code="cpu-option-stage",
            field=field,
            facts={"gate": gate},
        )


def _check_topology_option(option: str, settings: Settings) -> None:
    stage = stage_of(option, TOPOLOGY_OPTION_STAGES, settings.version.minor)
    field = (TOPOLOGY_OPTIONS, option)
    if stage is None:
        text = f"unknown Topology Manager Policy option: {quoted(option)}"
        facts = {"known": _known(TOPOLOGY_OPTION_STAGES, settings.version.minor)}
        raise KubeletError(text, code="topology-option-unknown", field=field, facts=facts)
    gate = f"TopologyManagerPolicy{stage.capitalize()}Options"
    if stage != "stable" and not settings.gate(gate):
        level = f"Topology Manager Policy {stage.capitalize()}-level Options"
        if settings.behaviour.topology_option_lower:
            level = level.lower()
        text = f"{level} not enabled, but option {quoted(option)} provided"
        raise KubeletError(text, code="topology-option-stage", field=field, facts={"gate": gate})


def _option_bool(option: str, value: str, *, code: str, field: FieldPath) -> bool:
    try:
        return parse_bool(value)
    except KubeletError as error:
        raise KubeletError(f"bad value for option {quoted(option)}: {error}", code=code, field=field) from None


def _max_nodes(option: str, value: str) -> int:
    field = (TOPOLOGY_OPTIONS, option)
    try:
        number = parse_int(value)
    except KubeletError as error:
        text = f"unable to convert policy option to integer {quoted(option)}: {error}"
        raise KubeletError(text, code="topology-option-number", field=field) from None
    if number < DEFAULT_MAX_NODES:
        text = f"the minimum value of {quoted(option)} should not be less than {DEFAULT_MAX_NODES}"
        raise KubeletError(text, code="topology-option-minimum", field=field)
    return number
