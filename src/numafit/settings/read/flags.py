"""The kubelet's flags: which ones a release knows, what those that concern us say, and how they override a file.

Each of them is deprecated in favour of the configuration file, and each still wins over it.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

import msgspec

from numafit.errors import InputError, KubeletError, StartError
from numafit.golang.text import parse_bool, parse_int, parse_int32, quoted
from numafit.quantity import Quantity, QuantityError, parse_quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.read.arguments import Argument
from numafit.settings.settings import ReservedMemory
from numafit.settings.tables.flags import SWITCHES, VALUES
from numafit.settings.versions import Behaviour, KubeVersion, behaviour_of

FLAGS_STAGE = "kubelet.flags"

T = TypeVar("T")

_TEXTS = {
    "cpu-manager-policy": "cpu_manager_policy",
    "memory-manager-policy": "memory_manager_policy",
    "topology-manager-policy": "topology_manager_policy",
    "topology-manager-scope": "topology_manager_scope",
    "reserved-cpus": "reserved_system_cpus",
    "kube-reserved-cgroup": "kube_reserved_cgroup",
    "system-reserved-cgroup": "system_reserved_cgroup",
    "root-dir": "root_dir",
}
_SWITCHES = {
    "cgroups-per-qos": "cgroups_per_qos",
    "experimental-allocatable-ignore-eviction": "ignore_eviction",
    "serialize-image-pulls": "serialize_image_pulls",
}
_NUMBERS = {
    "max-pods": "max_pods",
    "pods-per-core": "pods_per_core",
    "image-gc-high-threshold": "image_gc_high_threshold_percent",
    "image-gc-low-threshold": "image_gc_low_threshold_percent",
    "container-log-max-files": "container_log_max_files",
}
_MAPS = {
    "kube-reserved": "kube_reserved",
    "system-reserved": "system_reserved",
    "eviction-hard": "eviction_hard",
    "eviction-soft": "eviction_soft",
    "eviction-soft-grace-period": "eviction_soft_grace_period",
    "eviction-minimum-reclaim": "eviction_minimum_reclaim",
    "qos-reserved": "qos_reserved",
    "cpu-manager-policy-options": "cpu_manager_policy_options",
    "topology-manager-policy-options": "topology_manager_policy_options",
}


class FlagError(InputError):
    """`argument` is no flag, or none that the release has."""

    def __init__(self, argument: Argument, message: str, *, source: str, cure: str) -> None:
        self.argument = argument
        super().__init__(message, source=source, line=argument.line, cure=cure)


class Flags(msgspec.Struct, frozen=True):
    fields: Mapping[str, object] = {}
    """Field of KubeletConfig -> value, for the fields that a flag sets."""
    feature_gates: Mapping[str, bool] = {}
    config: str = ""
    """`--config`: the configuration file."""
    config_dir: str = ""
    """`--config-dir`: the drop-in files."""


def with_flags(config: KubeletConfig, flags: Flags) -> KubeletConfig:
    """Flags replace what a file says, a map as a whole; only feature gates are merged one by one."""
    merged = {**config.feature_gates, **flags.feature_gates}
    return msgspec.structs.replace(config, **flags.fields, feature_gates=merged)


def parse_flags(arguments: Sequence[Argument], version: KubeVersion, *, source: str = "") -> Flags:
    """A flag that the release does not know is a FlagError; a value that it refuses is the kubelet's own error."""
    behaviour = behaviour_of(version)
    fields: dict[str, object] = {}
    gates: dict[str, bool] = {}
    files = {"config": "", "config-dir": ""}
    for given in _given(arguments, version, source):
        try:
            if given.name in files:
                files[given.name] = given.value
            elif given.name == "feature-gates":
                gates |= _pairs(given.value, "=", "string=bool", _gate)
            else:
                _set(fields, given, behaviour)
        except KubeletError as error:
            text = f"invalid argument {quoted(given.value)} for {quoted('--' + given.name)} flag: {error}"
            raise StartError(
                FLAGS_STAGE,
                f"failed to parse kubelet flag: {text}",
                code="flag-value",
                facts={"flag": given.name, "value": given.value},
            ) from None
    return Flags(fields, gates, files["config"], files["config-dir"])


class _Given(NamedTuple):
    name: str
    value: str


def _given(arguments: Sequence[Argument], version: KubeVersion, source: str) -> Iterator[_Given]:
    switches, values = known_flags(version)
    rest = iter(arguments)
    for argument in rest:
        if argument.text in ("-h", "--help"):
            continue
        name, equals, value = _name_of(argument, source)
        if name in switches:
            yield _Given(name, value if equals else "true")
        elif name not in values:
            raise _unknown(name, version, argument, source)
        elif equals:
            yield _Given(name, value)
        else:
            following = next(rest, None)
            if following is None:
                missing = "flag needs an argument: " + (f"--{name}" if argument.text.startswith("--") else "'v' in -v")
                text = f"failed to parse kubelet flag: {missing}"
                raise StartError(FLAGS_STAGE, text, code="flag-needs-value", facts={"flag": name})
            yield _Given(name, following.text)


def _name_of(argument: Argument, source: str) -> tuple[str, str, str]:
    text = argument.text
    if text.startswith("-v") and not text.startswith("--"):
        # -v 2, -v=2 and -v2
        return "v", text[2:3], text[2:].removeprefix("=")
    if not text.startswith("--") or text == "--":
        cure = "write --flag=value or --flag value"
        raise FlagError(argument, f'"{text}" is no flag', source=source, cure=cure)
    name, equals, value = text[2:].partition("=")
    return name.replace("_", "-"), equals, value


def _unknown(name: str, version: KubeVersion, argument: Argument, source: str) -> FlagError:
    release = f"1.{version.minor}"
    elsewhere = any(name in row.split() for row in f"{SWITCHES};{VALUES}".split(";"))
    cure = "other releases have it: remove it, or check --kube-version" if elsewhere else "check the spelling"
    return FlagError(argument, f"the kubelet of {release} has no flag --{name}", source=source, cure=cure)


@cache
def known_flags(version: KubeVersion) -> tuple[frozenset[str], frozenset[str]]:
    """Flags that need no value, and flags that do."""
    return _of_minor(SWITCHES, version.minor), _of_minor(VALUES, version.minor)


def _of_minor(table: str, minor: int) -> frozenset[str]:
    found = set()
    for row in table.split(";"):
        words = row.split()
        first, _, last = words[1].partition("-") if len(words) > 1 else ("20", "-", "")
        if words and int(first) <= minor and (not last or minor <= int(last)):
            found.add(words[0])
    return frozenset(found)


def _set(fields: dict[str, object], given: _Given, behaviour: Behaviour) -> None:
    """A repeated map or list flag adds to its first occurrence; other repeated flags: the last one wins."""
    name, value = given
    if name in _TEXTS:
        fields[_TEXTS[name]] = value
    elif name in _SWITCHES:
        fields[_SWITCHES[name]] = parse_bool(value)
    elif name in _NUMBERS:
        fields[_NUMBERS[name]] = parse_int32(value)
    elif name in _MAPS:
        field = _MAPS[name]
        so_far = fields.get(field, {})
        fields[field] = {**(so_far if isinstance(so_far, dict) else {}), **_map_of(name, value, behaviour)}
    elif name == "enforce-node-allocatable":
        so_far = fields.get("enforce_node_allocatable", ())
        fields["enforce_node_allocatable"] = (*(so_far if isinstance(so_far, tuple) else ()), *_comma_list(value))
    elif name == "reserved-memory" and value:
        so_far = fields.get("reserved_memory", ())
        added = _reserved_memory(value, behaviour)
        fields["reserved_memory"] = (*(so_far if isinstance(so_far, tuple) else ()), *added)


def _map_of(name: str, value: str, behaviour: Behaviour) -> dict[str, str]:
    if name in ("eviction-hard", "eviction-soft"):
        return _pairs(value, "<", "string<string", lambda _, text: text)
    one_pair = name == "cpu-manager-policy-options" or (
        name == "topology-manager-policy-options" and not behaviour.topology_options_split
    )
    if one_pair:
        key, equals, text = value.partition("=")
        if not equals:
            raise KubeletError("malformed pair, expect string=string")
        return {key.strip(): text.strip()}
    return _pairs(value, "=", "string=string", lambda _, text: text)


def _pairs(value: str, sign: str, shape: str, read: Callable[[str, str], T]) -> dict[str, T]:
    found: dict[str, T] = {}
    for pair in value.split(","):
        if not pair:
            continue
        key, found_sign, text = pair.partition(sign)
        if not found_sign:
            raise KubeletError(f"malformed pair, expect {shape}")
        found[key.strip()] = read(key.strip(), text.strip())
    return found


def _gate(name: str, text: str) -> bool:
    try:
        return parse_bool(text)
    except KubeletError as error:
        raise KubeletError(f"invalid value of {name}: {text}, err: {error}") from None


def _comma_list(value: str) -> list[str]:
    return next(csv.reader([value]), []) if value else []


def _reserved_memory(value: str, behaviour: Behaviour) -> list[ReservedMemory]:
    groups = value.split(";") if behaviour.reserved_memory_groups else [value]
    return [_memory_group(group, behaviour) for group in groups]


def _memory_group(group: str, behaviour: Behaviour) -> ReservedMemory:
    expected, quantity = ("expected", "quantity") if behaviour.reserved_memory_spelling else ("exptected", "quantatity")
    parts = group.split(":")
    if len(parts) != 2:
        raise KubeletError(
            "the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], "
            f"got {group}"
        )
    try:
        node = parse_int(parts[0])
    except KubeletError:
        raise KubeletError(f"failed to convert the NUMA node ID, {expected} integer, got {parts[0]}") from None
    limits: dict[str, Quantity] = {}
    for pair in parts[1].split(","):
        limit = pair.split("=")
        if len(limit) != 2:
            raise KubeletError(f"the reserved limit has incorrect value, expected type={quantity}, got {pair}")
        name, text = limit
        if name != "memory" and not name.startswith("hugepages-"):
            raise KubeletError(f"memory type conversion error, unknown type: {quoted(name)}")
        try:
            limits[name] = parse_quantity(text)
        except QuantityError:
            if behaviour.reserved_memory_spelling:
                raise KubeletError(f"failed to parse the quantity: {text}") from None
            raise KubeletError(f"failed to parse the quantatity, expected quantatity, got {text}") from None
    return ReservedMemory(node, limits)
