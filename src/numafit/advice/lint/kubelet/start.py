"""Would this kubelet start? Every refusal of the engine, in the kubelet's words, where the kubelet stops at the first.

Without a machine only the checks that need none are made; for them a machine stands in that has whatever the
configuration names, and more than enough of it.
"""

from collections.abc import Iterator

import msgspec

from numafit.advice.cures import cure_of, row_of
from numafit.advice.inspection.checks import Doubts, Unchecked
from numafit.advice.inspection.inspection import READING, Inspection, Mistake, inspected
from numafit.advice.inspection.places import Position
from numafit.advice.inspection.text import KubeletText, argument_place
from numafit.advice.lint.findings import Finding, finding
from numafit.bits import parse_cpuset
from numafit.decision.start import UNKNOWN, Start
from numafit.errors import InputError, KubeletError
from numafit.machine.model import Cpu, Machine, NumaNode
from numafit.quantity import QuantityError, parse_quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.eviction import MEMORY_AVAILABLE
from numafit.settings.read.decoder import DECODE_FAILED, unknown_fields
from numafit.settings.read.flags import FlagError
from numafit.settings.settings import Settings
from numafit.settings.versions import KubeVersion

REFUSED = "the kubelet would not start"


class Checked(msgspec.Struct, frozen=True):
    findings: tuple[Finding, ...] = ()
    config: KubeletConfig | None = None
    """What the kubelet would run with, as far as it can be told."""
    settings: Settings | None = None
    start: Start | None = None
    """Of a kubelet that nothing keeps from starting on the machine; None without a machine."""
    config_flag: str = ""
    """The file that `--config` names, when it is not part of the text."""
    unchecked: tuple[Unchecked, ...] = ()
    doubts: Doubts = {}
    """Values of the configuration that are not what somebody wrote."""


def check_start(text: KubeletText, version: KubeVersion, machine: Machine | None) -> Checked:
    known = Start(version=version, sources=text.sources())
    if machine is not None:
        known = msgspec.structs.replace(known, machine=machine)
    inspection = inspected(known, stand_in)
    config = None if inspection.known.config is UNKNOWN else inspection.known.config
    mistakes = [mistake for mistake in inspection.mistakes if not _about_file(mistake)]
    flags = inspection.known.flags
    missing = flags.config if flags is not UNKNOWN and text.part is None else ""
    if missing:
        # Most settings stand in a file that is not here; only what no file can change is certain.
        mistakes = [mistake for mistake in mistakes if _certain(mistake)]
    judge = _Judge(text, inspection)
    found = (*(judge.finding(mistake) for mistake in mistakes), *_unknown(text, version))
    if missing:
        return Checked(found, config, config_flag=missing, doubts=inspection.doubts)
    settings = None if inspection.known.settings is UNKNOWN else inspection.known.settings
    starts = not inspection.mistakes and inspection.limit is None and settings is not None and machine is not None
    unchecked = tuple(msgspec.structs.replace(each, file=text.source) for each in inspection.unchecked)
    start = inspection.known if starts else None
    return Checked(found, config, settings, start, unchecked=unchecked, doubts=inspection.doubts)


def _about_file(mistake: Mistake) -> bool:
    """A file that is none: lint says that of the file itself."""
    return isinstance(mistake.problem, InputError) and not isinstance(mistake.problem, FlagError)


def _certain(mistake: Mistake) -> bool:
    if mistake.step in (*READING, "gates"):
        return True
    return isinstance(mistake.problem, KubeletError) and row_of(mistake.problem).lint in ("NF105", "NF113")


def _unknown(text: KubeletText, version: KubeVersion) -> Iterator[Finding]:
    for part in (text.part, *text.drop_ins):
        for path in () if part is None else unknown_fields(part.value, version):
            yield finding(
                "NF201",
                part.place(path, key=True) if part is not None else text.place(),
                f"the kubelet 1.{version.minor} does not know the field {path[-1]} and ignores it",
                "remove it, correct its name, or check --kube-version",
            )


class _Judge:
    """From a mistake to a finding."""

    def __init__(self, text: KubeletText, inspection: Inspection) -> None:
        self.text = text
        self.known = inspection.known

    def finding(self, mistake: Mistake) -> Finding:
        problem = mistake.problem
        if isinstance(problem, InputError):
            return self._flag(problem)
        words = mistake.text
        if mistake.step in ("gates", "valid") or problem.code.startswith("gate-"):
            words = problem.message
        elif "short" in problem.facts:
            words = f"{DECODE_FAILED}{problem.facts['short']}"
        more = ""
        if problem.code in ("memory-total", "pages-total") and self.known.config is not UNKNOWN:
            more = _sum(self.known.config, problem)
        message = f'{REFUSED}: "{words}"{more}'
        return finding(row_of(problem).lint, self._place(mistake, problem), message, cure_of(problem))

    def _place(self, mistake: Mistake, problem: KubeletError) -> Position:
        place, _ = self.text.where(problem, mistake.stage)
        return place or self.text.place()

    def _flag(self, error: InputError) -> Finding:
        flags = self.text.flags
        if flags is None or not isinstance(error, FlagError):
            return finding("NF104", self.text.place(), error.message, error.cure)
        name = error.argument.text.partition("=")[0]
        quoted = f': "unknown flag: {name}"' if name.startswith("--") else ""
        place = argument_place(flags, error.argument)
        return finding("NF104", place, f"{REFUSED}{quoted}; {error.message}", error.cure)


def _sum(config: KubeletConfig, problem: KubeletError) -> str:
    """Both sides spelled out: `; reservedMemory has 2Gi + 2Gi = 4Gi, but … + … = 4196Mi`"""
    name = problem.facts["resource"]
    listed = [str(item.limits[name]) for item in config.reserved_memory if name in item.limits]
    parts = [
        f"{field} {amounts[name]}"
        for field, amounts in (("kubeReserved", config.kube_reserved), ("systemReserved", config.system_reserved))
        if name in amounts
    ]
    threshold = config.eviction_hard.get(MEMORY_AVAILABLE)
    if name == "memory" and threshold and not config.ignore_eviction:
        parts.append(f"evictionHard {MEMORY_AVAILABLE} {threshold}")
    left = " + ".join(listed) or "nothing"
    if len(listed) > 1:
        left += f" = {problem.facts['listed']}"
    right = " + ".join(parts) or "nothing reserved"
    if len(parts) > 1:
        right += f" = {problem.facts['wanted']}"
    return f"; reservedMemory has {left}, but {right}"


LARGEST_NODE = 1024
"""Linux numbers no NUMA node higher."""
MOST_CPUS = 4096
_MEMORY = 1 << 45


def stand_in(config: KubeletConfig) -> Machine | None:
    """None for a configuration that reserves more CPUs than any machine has."""
    nodes = {0} | {item.numa_node for item in config.reserved_memory if 0 <= item.numa_node < LARGEST_NODE}
    count = _cpus(config)
    if count > MOST_CPUS:
        return None
    distances = tuple(10 for _ in nodes)
    return Machine(
        cpus=tuple(Cpu(i, i, 0, 0) for i in range(count + 1)),
        numa_nodes=tuple(NumaNode(node, _MEMORY, distances=distances) for node in sorted(nodes)),
    )


def _cpus(config: KubeletConfig) -> int:
    try:
        listed = parse_cpuset(config.reserved_system_cpus).bit_length()
    except KubeletError:
        listed = 0
    amounts = 0
    for reserved in (config.kube_reserved, config.system_reserved):
        try:
            amounts += max(parse_quantity(reserved.get("cpu", "0")).value(), 0)
        except QuantityError:
            continue
    return max(listed, amounts, 1)
