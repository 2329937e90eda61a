"""Would this kubelet start? Every refusal of the engine, in the kubelet's words, where the kubelet stops at the first.

Without a machine only the checks that need none are made; for them a machine stands in that has whatever the
configuration names, and more than enough of it.
"""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from numafit.advice.cures import cure_of, row_of
from numafit.advice.lint.findings import Finding, finding
from numafit.advice.lint.kubelet.text import KubeletText, argument_place
from numafit.bits import parse_cpuset
from numafit.decision.stage import start_problem
from numafit.decision.start import UNKNOWN, Examination, Start, StartRefusal, examined
from numafit.errors import InputError, KubeletError, StartError
from numafit.machine.model import Cpu, Machine, NumaNode
from numafit.quantity import Quantity, QuantityError, parse_quantity
from numafit.settings.allocatable import reservation_of
from numafit.settings.config import KubeletConfig, config_of_file, default_config
from numafit.settings.eviction import MEMORY_AVAILABLE
from numafit.settings.read.decoder import API_VERSION, DECODE_FAILED, KIND, DecodeError, decode_config
from numafit.settings.read.flags import FlagError, Flags, parse_flags, with_flags
from numafit.settings.settings import Settings
from numafit.settings.versions import KubeVersion

REFUSED = "the kubelet would not start"


class Checked(msgspec.Struct, frozen=True):
    findings: tuple[Finding, ...] = ()
    config: KubeletConfig | None = None
    """What the kubelet would run with, as far as it can be told."""
    settings: Settings | None = None
    start: Examination | None = None
    """Of a kubelet that nothing keeps from starting on the machine; None without a machine."""
    undecoded: DecodeError | None = None
    """Why the file cannot be read into a configuration as it stands."""
    config_flag: str = ""
    """The file that `--config` names, when it is not part of the text."""


class _Check:
    def __init__(self, text: KubeletText, version: KubeVersion, machine: Machine | None) -> None:
        self.text = text
        self.version = version
        self.machine = machine
        self.found: list[Finding] = []
        self.undecoded: DecodeError | None = None

    def refuse(self, error: KubeletError, more: str = "", cure: str = "") -> None:
        place = self.text.place(*self.text.cause_of(error))
        message = f'{REFUSED}: "{error}"{more}'
        self.found.append(finding(row_of(error).lint, place, message, cure or cure_of(error)))

    # --- from text to configuration ---

    def flags(self) -> Flags | None:
        arguments = list(self.text.arguments)
        while True:
            try:
                flags = parse_flags(arguments, self.version, source=self.text.source)
            except FlagError as error:
                self._bad_flag(error)
                at = arguments.index(error.argument)
                own_value = (
                    "=" not in error.argument.text and at + 1 < len(arguments) and arguments[at + 1].text[:1] != "-"
                )
                del arguments[at : at + 1 + own_value]
                continue
            except StartError as error:
                place = self.text.flag_place(error.facts["flag"]) or self.text.place()
                self.found.append(finding(row_of(error).lint, place, f'{REFUSED}: "{error}"', cure_of(error)))
                return None
            return flags

    def _bad_flag(self, error: FlagError) -> None:
        flags = self.text.flags
        place = self.text.place() if flags is None else argument_place(flags, error.argument)
        name = error.argument.text.partition("=")[0]
        quoted = f': "unknown flag: {name}"' if name.startswith("--") else ""
        self.found.append(finding("NF104", place, f"{REFUSED}{quoted}; {error.message}", error.cure))

    def decoded(self) -> KubeletConfig | None:
        """The file alone; of a file without a kind as if it had one."""
        part = self.text.part
        if part is None:
            return default_config(self.version)
        value: Mapping[str, object] = part.value
        try:
            decoded = decode_config(
                value, self.version, text=part.text, sort_keys=not part.text.lstrip().startswith("{")
            )
        except DecodeError as error:
            self.undecoded = error
            place = part.place(error.field if error.field and error.field[0] in part.value else ())
            message = f'{REFUSED}: "{DECODE_FAILED}{error.facts.get("short", error.message)}"'
            self.found.append(finding(row_of(error).lint, place, message, cure_of(error)))
            if value.get("kind") and value.get("apiVersion") == API_VERSION:
                return None
            try:
                decoded = decode_config(
                    {**value, "kind": KIND, "apiVersion": API_VERSION}, self.version, text="", sort_keys=True
                )
            except DecodeError:
                return None
        for path in decoded.unknown:
            self.found.append(
                finding(
                    "NF201",
                    part.place(path, key=True),
                    f"the kubelet 1.{self.version.minor} does not know the field {path[-1]} and ignores it",
                    "remove it, correct its name, or check --kube-version",
                )
            )
        return config_of_file(decoded.fields, self.version)

    # --- from configuration to managers ---

    def start(self, config: KubeletConfig) -> Examination:
        """Every step of the kubelet's start; without a machine only those that count nothing of it."""
        known = Start(version=self.version, config=config)
        if self.machine is not None:
            return examined(replace(known, machine=self.machine))
        share = config.eviction_hard.get(MEMORY_AVAILABLE, "").endswith("%")
        machine = stand_in(config)
        known = known if machine is None else replace(known, machine=machine)
        return examined(known, {"allocatable", "memory"} if share else {"allocatable"})

    def refused(self, refusal: StartRefusal, config: KubeletConfig) -> None:
        step, error = refusal
        if isinstance(error, InputError):
            return
        if step == "gates":
            self.refuse(KubeletError(start_problem(error), joins=error.problems))
        elif step == "valid":
            for problem in {str(problem): problem for problem in error.problems}.values():
                self.refuse(problem)
        elif error.code in ("memory-total", "pages-total"):
            self.refuse(error, *self._sum(config, error.facts["resource"]))
        else:
            self.refuse(error)

    def _sum(self, config: KubeletConfig, name: str) -> tuple[str, str]:
        """Both sides spelled out, and the cure: `; reservedMemory has 2Gi + 2Gi = 4Gi, but … + … = 4196Mi`"""
        listed = [item.limits[name] for item in config.reserved_memory if name in item.limits]
        machine = self.machine or stand_in(config)
        total = Quantity(0)
        if machine is not None:
            total = reservation_of(config, machine, self.version).get(name, total)
        parts = [
            f"{field} {amounts[name]}"
            for field, amounts in (("kubeReserved", config.kube_reserved), ("systemReserved", config.system_reserved))
            if name in amounts
        ]
        threshold = config.eviction_hard.get(MEMORY_AVAILABLE)
        if name == "memory" and threshold and not config.ignore_eviction:
            parts.append(f"evictionHard {MEMORY_AVAILABLE} {threshold}")
        left = " + ".join(map(str, listed)) or "nothing"
        own = sum(listed[1:], listed[0]) if listed else Quantity(0, 0, "BinarySI")
        if len(listed) > 1:
            left += f" = {own}"
        right = " + ".join(parts) or "nothing reserved"
        if len(parts) > 1:
            right += f" = {total}"
        change = f"add {total - own} to" if total > own else f"take {own - total} from"
        cure = f"{change} reservedMemory, so that it has {total} of {name} in all"
        if total.is_zero:
            cure = f"remove {name} from reservedMemory"
        return f"; reservedMemory has {left}, but {right}", cure


def check_start(text: KubeletText, version: KubeVersion, machine: Machine | None) -> Checked:
    check = _Check(text, version, machine)
    flags = check.flags()
    if flags is None:
        return Checked(tuple(check.found))
    missing = flags.config if text.part is None else ""
    config = check.decoded()
    if config is None:
        return Checked(tuple(check.found), undecoded=check.undecoded, config_flag=missing)
    config = with_flags(config, flags)
    examination = check.start(config)
    before = len(check.found)
    for refusal in examination.refusals:
        check.refused(refusal, config)
        if refusal.step == "gates":
            before = len(check.found)
    if missing:
        # Most settings stand in a file that is not here; only what no file can change is certain.
        certain = [each for each in check.found[before:] if each.code in ("NF105", "NF113")]
        return Checked((*check.found[:before], *certain), config, config_flag=missing)
    settings = None if examination.known.settings is UNKNOWN else examination.known.settings
    starts = settings is not None and all(each.severity != "error" for each in check.found)
    return Checked(tuple(check.found), config, settings, examination if starts and machine is not None else None)


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
