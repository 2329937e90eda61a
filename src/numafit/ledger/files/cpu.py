"""The CPU manager's state file `cpu_manager_state`, both ways.

Four layouts: v1 (container id -> CPUs, written before 1.18, only read since, up to 1.36), v2 (pod UID -> container ->
CPUs), v3 (v2 and the CPUs of pods as a whole, 1.36 with PodLevelResourceManagers) and v4 (v2 and `data`, since 1.37).
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal

import msgspec

from numafit.bits import CpusetError, cpuset_text, members, parse_cpuset
from numafit.golang.containers import GoField, GoStruct, TextMap
from numafit.golang.json import GoValue, quote
from numafit.golang.spew import Spew, checksum
from numafit.golang.text import go_quote
from numafit.golang.types import DecodeState, GoType, Text, unmarshal
from numafit.ledger.files.checkpoint import (
    DATA,
    DATA_SUM,
    SUM,
    RefusedError,
    RestoreError,
    WithData,
    corrupted,
    drain_text,
    dump_of,
    matches,
    read_data,
    unreadable,
    with_data,
)
from numafit.ledger.state_files import CPU_FILE
from numafit.settings.versions import Behaviour

RESIZE_GATE = "InPlacePodVerticalScalingExclusiveCPUs"
"""Since 1.37 the file then holds baselines."""

CpuFormat = Literal["v2", "v3", "v4"]


class CpuFile(msgspec.Struct, frozen=True):
    """The contents of the file as texts; None is JSON `null`."""

    policy: str
    default: str = ""
    entries: dict[str, dict[str, str]] | None = {}
    """Pod UID -> container -> CPUs."""
    pod_entries: dict[str, str] | None = {}
    """Pod UID -> CPUs of the pod as a whole; written in formats v3 and v4 only."""
    baselines: dict[str, dict[str, str]] | None = {}
    """Pod UID -> container -> CPUs at its admission, whatever resizes came later; written in format v4 only."""


class LegacyCpuFile(msgspec.Struct, frozen=True):
    """The contents of a v1 file."""

    policy: str
    default: str = ""
    entries: dict[str, str] | None = {}
    """Container id -> CPUs."""


class RestoredCpu(msgspec.Struct, frozen=True):
    """What the kubelet has in memory after it has read the file; sets are bit masks."""

    policy: str
    default: int = 0
    entries: dict[str, dict[str, int]] = {}
    pod_entries: dict[str, int] = {}
    baselines: dict[str, dict[str, int]] = {}


class _Baseline(msgspec.Struct, frozen=True):
    cpu_set: str = ""


class _Checkpoint(WithData, frozen=True):
    policy: str = ""
    default: str = ""
    entries: Mapping[str, Mapping[str, str] | None] | None = {}
    pod_entries: Mapping[str, str] | None = {}
    baselines: Mapping[str, Mapping[str, _Baseline] | None] | None = {}
    checksum: int = 0


class _Legacy(msgspec.Struct, frozen=True):
    policy: str = ""
    default: str = ""
    entries: Mapping[str, str] | None = {}
    checksum: int = 0


class _PodCpus(GoType[str]):
    """A struct around a CPU set that is text in JSON and a set of numbers in the dump."""

    name = "state.PodEntry"

    def zero(self) -> str:
        return ""

    def decode(self, node: GoValue, old: str, place: DecodeState) -> str:
        inner = DecodeState("state.podEntryJSON")
        text = _POD_JSON.decode(node, _PodText(), inner).cpu_set
        if inner.error:
            place.fail(str(inner.error))
            return old
        try:
            return cpuset_text(parse_cpuset(text))
        except CpusetError as error:
            place.fail(f"failed to parse cpuset: {error}")
            return old

    def encode(self, value: str) -> str:
        return f'{{"cpuSet":{quote(value)}}}' if value else "{}"

    def dump(self, value: str, spew: Spew) -> None:
        spew.type(self.name)
        ids = " ".join(f"{cpu}:{{}}" for cpu in members(parse_cpuset(value)))
        spew.write(f"{{CPUSet:(cpuset.CPUSet){{elems:(map[int]struct {{}})map[{ids}]}}}}")


class _PodText(msgspec.Struct, frozen=True):
    cpu_set: str = ""


_POD_JSON = GoStruct("state.podEntryJSON", _PodText, GoField("CPUSet", "cpuSet", "cpu_set", Text(), omit_empty=True))

_NAME = "state.CPUManagerCheckpoint"
_POLICY = GoField("PolicyName", "policyName", "policy", Text())
_DEFAULT = GoField("DefaultCPUSet", "defaultCpuSet", "default", Text())
_SUM = GoField("Checksum", "checksum", "checksum", SUM)
_ENTRIES = GoField("Entries", "entries", "entries", TextMap(TextMap(Text())), omit_empty=True)
_POD_ENTRIES = GoField(
    "PodEntries", "podEntries", "pod_entries", TextMap(_PodCpus(), "state.PodCPUAssignments"), omit_empty=True
)
_BASELINE = GoStruct("state.ContainerCPUs", _Baseline, GoField("Baseline", "baseline", "cpu_set", Text()))
_BASELINES = GoField("Baselines", "baselines", "baselines", TextMap(TextMap(_BASELINE)), omit_empty=True)
_IDS = GoField("Entries", "entries", "entries", TextMap(Text()), omit_empty=True)

_V1 = GoStruct(f"{_NAME}V1", _Legacy, _POLICY, _DEFAULT, _IDS, _SUM)
_V2 = GoStruct(f"{_NAME}V2", _Checkpoint, _POLICY, _DEFAULT, _ENTRIES, _SUM)
_V3 = GoStruct(_NAME, _Checkpoint, _POLICY, _DEFAULT, _ENTRIES, _POD_ENTRIES, _SUM)
_V4 = GoStruct(_NAME, _Checkpoint, _POLICY, _DEFAULT, _ENTRIES, _SUM, DATA, DATA_SUM)
_CONTENTS = (_POLICY, _DEFAULT, _ENTRIES, _POD_ENTRIES, _BASELINES)
_V4_DATA = GoStruct(f"{_NAME}Data", _Checkpoint, *_CONTENTS)
_ANY = GoStruct(_NAME, _Checkpoint, *_CONTENTS, _SUM, DATA, DATA_SUM)


def _unsealed(file: CpuFile) -> _Checkpoint:
    baselines = None
    if file.baselines is not None:
        baselines = {
            pod_uid: {name: _Baseline(cpus) for name, cpus in own.items()} for pod_uid, own in file.baselines.items()
        }
    return _Checkpoint(file.policy, file.default, file.entries, file.pod_entries, baselines)


def cpu_dump(file: CpuFile, layout: CpuFormat) -> str:
    """The text whose hash is the checksum; v4 has that of v2."""
    return dump_of(_V3 if layout == "v3" else _V2, _unsealed(file), _NAME)


def cpu_bytes(file: CpuFile, layout: CpuFormat) -> str:
    contents = msgspec.structs.replace(_unsealed(file), checksum=checksum(cpu_dump(file, layout)))
    if layout == "v4":
        return _V4.encode(with_data(_V4_DATA, contents))
    return (_V3 if layout == "v3" else _V2).encode(contents)


def legacy_cpu_dump(file: LegacyCpuFile, type_name: str = _NAME) -> str:
    return dump_of(_V1, _Legacy(file.policy, file.default, file.entries), type_name)


def legacy_cpu_bytes(file: LegacyCpuFile, type_name: str = _NAME) -> str:
    """A v1 file. Kubelets before 1.18 hashed it under the plain type name, and later ones take no other."""
    return _V1.encode(_Legacy(file.policy, file.default, file.entries, checksum(legacy_cpu_dump(file, type_name))))


def parse_cpu(data: str | bytes) -> CpuFile:
    """The contents of a file from v2 on without any verification; RestoreError with Go's text where it is not one."""
    file, error = unmarshal(data, _ANY, _Checkpoint())
    if not error and file.data:
        file, error = unmarshal(file.data, _V4_DATA, _Checkpoint())
    if error:
        raise RestoreError(str(error))
    entries = None
    if file.entries is not None:
        entries = {pod_uid: dict(containers or {}) for pod_uid, containers in file.entries.items()}
    baselines = None
    if file.baselines is not None:
        baselines = {
            pod_uid: {name: baseline.cpu_set for name, baseline in (own or {}).items()}
            for pod_uid, own in file.baselines.items()
        }
    pod_entries = None if file.pod_entries is None else dict(file.pod_entries)
    return CpuFile(file.policy, file.default, entries, pod_entries, baselines)


def parse_legacy_cpu(data: str | bytes) -> LegacyCpuFile:
    """The contents of a v1 file without any verification."""
    file, error = unmarshal(data, _V1, _Legacy())
    if error:
        raise RestoreError(str(error))
    return LegacyCpuFile(file.policy, file.default, None if file.entries is None else dict(file.entries))


RuntimeContainers = Iterable[tuple[str, str, str]]
"""(pod UID, container name, container id) of the containers that the runtime knows."""


def read_cpu(
    data: str | bytes,
    *,
    policy: str,
    behaviour: Behaviour,
    gate: bool,
    resize_gate: bool = False,
    containers: RuntimeContainers,
    state_dir: str,
) -> RestoredCpu:
    """What the kubelet restores from the file, or RestoreError in its words.

    `gate` is PodLevelResourceManagers, `resize_gate` InPlacePodVerticalScalingExclusiveCPUs; releases whose state does
    not depend on them ignore them. Where Go's map order decides which of several faults is named, the one that sorts
    first is named here.
    """
    try:
        file = _loaded(data, behaviour, gate and behaviour.pod_level == "managed", containers)
        restored = _restored(file, policy, behaviour)
        return _with_baselines(restored, file, behaviour) if resize_gate and behaviour.state_data else restored
    except RefusedError as refusal:
        raise RestoreError(drain_text(str(refusal), "CPU", state_dir, CPU_FILE), cause=refusal) from None


def _loaded(data: str | bytes, behaviour: Behaviour, gate: bool, containers: RuntimeContainers) -> _Checkpoint:
    if behaviour.state_data:
        file = read_data(data, _V4, _V4_DATA, _Checkpoint(), "cpu", "v4") or _read_v3_or_v2(data, gate)
        return file if gate else msgspec.structs.replace(file, pod_entries={})
    if not behaviour.newest_cpu_format_first:
        try:
            legacy = _read_v1(data)
        except RefusedError:
            return _read_v2(data, "state.CPUManagerCheckpoint")
        return _migrated(legacy, containers, "error migrating v1 checkpoint state to v2 checkpoint state")
    if not gate:
        return _read_v2_or_v1(data, containers, _NAME, f"{_NAME}V2")
    newest, error = unmarshal(data, _V3, _Checkpoint())
    if not error and matches(_V3, newest, newest.checksum, _NAME):
        return newest
    # the failed attempt's pod entries stay in the value into which the older layout is then migrated (1.36)
    older = _read_v2_or_v1(data, containers, _NAME)
    return msgspec.structs.replace(older, pod_entries=newest.pod_entries)


def _read_v3_or_v2(data: str | bytes, gate: bool) -> _Checkpoint:
    """The layouts that 1.37 still reads beside its own."""
    file, error = unmarshal(data, _V3, _Checkpoint())
    if not error and matches(_V3, file, file.checksum, f"{_NAME}V3", _NAME):
        return file
    return _read_v2(data, f"{_NAME}V2", _NAME) if gate else _read_v2(data, f"{_NAME}V2", _NAME, f"{_NAME}V2")


def _read_v2_or_v1(data: str | bytes, containers: RuntimeContainers, *type_names: str) -> _Checkpoint:
    try:
        return _read_v2(data, f"{_NAME}V2", *type_names)
    except RefusedError:
        return _migrated(_read_v1(data), containers, "failed to migrate checkpoint from v1 to v2")


# Advice starts many kubelets over the same file.
@lru_cache(maxsize=4)
def _read_v2(data: str | bytes, root: str, *type_names: str) -> _Checkpoint:
    file, error = unmarshal(data, _V2.renamed(root), _Checkpoint())
    if error:
        raise unreadable(str(error))
    if file.checksum and not matches(_V2, file, file.checksum, *(type_names or (root,))):
        raise corrupted()
    return file


def _read_v1(data: str | bytes) -> _Legacy:
    file, error = unmarshal(data, _V1, _Legacy())
    if error and error.facts.get("found") == "object":
        # the entries of later layouts
        raise RefusedError(str(error), code="restore-older-layout")
    if error:
        raise unreadable(str(error))
    if file.checksum and not matches(_V1, file, file.checksum, _NAME):
        raise corrupted()
    return file


def _migrated(legacy: _Legacy, containers: RuntimeContainers, wrap: str) -> _Checkpoint:
    known = {container_id: (pod_uid, name) for pod_uid, name, container_id in containers}
    entries: dict[str, dict[str, str]] = {}
    for container_id, cpus in sorted((legacy.entries or {}).items()):
        if container_id not in known:
            text = f"{wrap}: containerID '{container_id}' not found in initial containers list"
            raise RefusedError(text, code="restore-container")
        pod_uid, name = known[container_id]
        entries.setdefault(pod_uid, {})[name] = cpus
    return _Checkpoint(legacy.policy, legacy.default, entries)


def _restored(file: _Checkpoint, policy: str, behaviour: Behaviour) -> RestoredCpu:
    if policy != file.policy:
        raise RefusedError(
            f"configured policy {go_quote(policy)} differs from state checkpoint policy {go_quote(file.policy)}",
            code="cpu-restore-policy",
        )
    sign = behaviour.reversed_range_sign
    try:
        default = parse_cpuset(file.default, reversed_sign=sign)
    except CpusetError as error:
        noun = "CPU" if behaviour.state_data else "cpu"
        text = f"could not parse default {noun} set {go_quote(file.default)}: {error}"
        raise RefusedError(text, code="restore-cpus") from None
    entries: dict[str, dict[str, int]] = {}
    for pod_uid, cpu_sets in sorted((file.entries or {}).items()):
        entries[pod_uid] = {}
        for name, text in sorted((cpu_sets or {}).items()):
            try:
                entries[pod_uid][name] = parse_cpuset(text, reversed_sign=sign)
            except CpusetError as error:
                place = f"container {go_quote(name)} in pod {go_quote(pod_uid)}"
                problem = f"could not parse cpuset {go_quote(text)} for {place}: {error}"
                raise RefusedError(problem, code="restore-cpus") from None
    pods = {pod_uid: parse_cpuset(text) for pod_uid, text in (file.pod_entries or {}).items()}
    return RestoredCpu(file.policy, default, entries, pods)


def _with_baselines(restored: RestoredCpu, file: _Checkpoint, behaviour: Behaviour) -> RestoredCpu:
    """A file without any baseline comes from a kubelet that resized nothing: they are the exclusive CPUs."""
    if not file.baselines:
        return msgspec.structs.replace(restored, baselines=restored.entries)
    baselines: dict[str, dict[str, int]] = {}
    for pod_uid, own in sorted(file.baselines.items()):
        baselines[pod_uid] = {}
        for name, baseline in sorted((own or {}).items()):
            text = baseline.cpu_set
            try:
                baselines[pod_uid][name] = parse_cpuset(text, reversed_sign=behaviour.reversed_range_sign)
            except CpusetError as error:
                place = f"container {go_quote(name)} in pod {go_quote(pod_uid)}"
                problem = f"could not parse Baseline cpuset {go_quote(text)} for {place}: {error}"
                raise RefusedError(problem, code="restore-cpus") from None
    return msgspec.structs.replace(restored, baselines=baselines)
