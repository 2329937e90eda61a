"""The CPU manager's state file `cpu_manager_state`, both ways.

Three layouts: v1 (container id -> CPUs, written before 1.18, only read since), v2 (pod UID -> container -> CPUs) and
v3 (v2 and the CPUs of pods as a whole, 1.36 with PodLevelResourceManagers).
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from numafit.ledger.checkpoint import CORRUPTED, RestoreError, drain_text, dump_of, matches
from numafit.ledger.gocontainers import Field, Record, TextMap
from numafit.ledger.gojson import Node, go_quote, quote
from numafit.ledger.gotypes import GoType, Place, Text, Whole, unmarshal
from numafit.ledger.spew import Spew, checksum
from numafit.machine.bits import CpusetError, cpuset_text, members, parse_cpuset
from numafit.settings.versions import Behaviour

FILE_NAME = "cpu_manager_state"

CpuFormat = Literal["v2", "v3"]


class CpuFile(msgspec.Struct, frozen=True):
    """The contents of the file as texts; None is JSON `null`."""

    policy: str
    default: str = ""
    entries: dict[str, dict[str, str]] | None = {}
    """Pod UID -> container -> CPUs."""
    pod_entries: dict[str, str] | None = {}
    """Pod UID -> CPUs of the pod as a whole; written in format v3 only."""


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


class _Checkpoint(msgspec.Struct, frozen=True):
    policy: str = ""
    default: str = ""
    entries: Mapping[str, Mapping[str, str] | None] | None = {}
    pod_entries: Mapping[str, str] | None = {}
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

    def decode(self, node: Node, old: str, place: Place) -> str:
        inner = Place("state.podEntryJSON")
        text = _POD_JSON.decode(node, _PodText(), inner).cpu_set
        if inner.error:
            place.fail(inner.error)
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


_POD_JSON = Record("state.podEntryJSON", _PodText, Field("CPUSet", "cpuSet", "cpu_set", Text(), omit_empty=True))

_NAME = "state.CPUManagerCheckpoint"
_POLICY = Field("PolicyName", "policyName", "policy", Text())
_DEFAULT = Field("DefaultCPUSet", "defaultCpuSet", "default", Text())
_SUM = Field("Checksum", "checksum", "checksum", Whole("checksum.Checksum", 64, signed=False))
_ENTRIES = Field("Entries", "entries", "entries", TextMap(TextMap(Text())), omit_empty=True)
_POD_ENTRIES = Field(
    "PodEntries", "podEntries", "pod_entries", TextMap(_PodCpus(), "state.PodCPUAssignments"), omit_empty=True
)
_IDS = Field("Entries", "entries", "entries", TextMap(Text()), omit_empty=True)

_V1 = Record(f"{_NAME}V1", _Legacy, _POLICY, _DEFAULT, _IDS, _SUM)
_V2 = Record(f"{_NAME}V2", _Checkpoint, _POLICY, _DEFAULT, _ENTRIES, _SUM)
_V3 = Record(_NAME, _Checkpoint, _POLICY, _DEFAULT, _ENTRIES, _POD_ENTRIES, _SUM)

_LAYOUTS: dict[CpuFormat, Record[_Checkpoint]] = {"v2": _V2, "v3": _V3}


def cpu_dump(file: CpuFile, layout: CpuFormat) -> str:
    """The text whose hash is the checksum."""
    return dump_of(_LAYOUTS[layout], _Checkpoint(file.policy, file.default, file.entries, file.pod_entries), _NAME)


def cpu_bytes(file: CpuFile, layout: CpuFormat) -> str:
    claimed = checksum(cpu_dump(file, layout))
    return _LAYOUTS[layout].encode(_Checkpoint(file.policy, file.default, file.entries, file.pod_entries, claimed))


def legacy_cpu_dump(file: LegacyCpuFile, type_name: str = _NAME) -> str:
    return dump_of(_V1, _Legacy(file.policy, file.default, file.entries), type_name)


def legacy_cpu_bytes(file: LegacyCpuFile, type_name: str = _NAME) -> str:
    """A v1 file. Kubelets before 1.18 hashed it under the plain type name, and later ones take no other."""
    return _V1.encode(_Legacy(file.policy, file.default, file.entries, checksum(legacy_cpu_dump(file, type_name))))


def parse_cpu(data: str | bytes) -> CpuFile:
    """The contents of a v2 or v3 file without any verification; RestoreError with Go's text where it is not one."""
    file, error = unmarshal(data, _V3, _Checkpoint())
    if error:
        raise RestoreError(error)
    entries = None
    if file.entries is not None:
        entries = {pod_uid: dict(containers or {}) for pod_uid, containers in file.entries.items()}
    return CpuFile(file.policy, file.default, entries, None if file.pod_entries is None else dict(file.pod_entries))


def parse_legacy_cpu(data: str | bytes) -> LegacyCpuFile:
    """The contents of a v1 file without any verification."""
    file, error = unmarshal(data, _V1, _Legacy())
    if error:
        raise RestoreError(error)
    return LegacyCpuFile(file.policy, file.default, None if file.entries is None else dict(file.entries))


Containers = Iterable[tuple[str, str, str]]
"""(pod UID, container name, container id) of the containers that the runtime knows."""


class _RefusedError(Exception):
    """One attempt to read the file failed."""


def read_cpu(
    data: str | bytes, *, policy: str, behaviour: Behaviour, gate: bool, containers: Containers, state_dir: str
) -> RestoredCpu:
    """What the kubelet restores from the file, or RestoreError in its words.

    `gate` is PodLevelResourceManagers; releases without it ignore it. Where Go's map order decides which of several
    faults is named, the one that sorts first is named here.
    """
    try:
        return _restored(
            _loaded(data, behaviour, gate and behaviour.pod_level == "managed", containers), policy, behaviour
        )
    except _RefusedError as refusal:
        raise RestoreError(drain_text(str(refusal), "CPU", state_dir, FILE_NAME)) from None


def _loaded(data: str | bytes, behaviour: Behaviour, gate: bool, containers: Containers) -> _Checkpoint:
    if not behaviour.newest_cpu_format_first:
        try:
            legacy = _read_v1(data)
        except _RefusedError:
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


def _read_v2_or_v1(data: str | bytes, containers: Containers, *type_names: str) -> _Checkpoint:
    try:
        return _read_v2(data, f"{_NAME}V2", *type_names)
    except _RefusedError:
        return _migrated(_read_v1(data), containers, "failed to migrate checkpoint from v1 to v2")


def _read_v2(data: str | bytes, root: str, *type_names: str) -> _Checkpoint:
    file, error = unmarshal(data, _V2.renamed(root), _Checkpoint())
    if error:
        raise _RefusedError(error)
    if file.checksum and not matches(_V2, file, file.checksum, *(type_names or (root,))):
        raise _RefusedError(CORRUPTED)
    return file


def _read_v1(data: str | bytes) -> _Legacy:
    file, error = unmarshal(data, _V1, _Legacy())
    if error:
        raise _RefusedError(error)
    if file.checksum and not matches(_V1, file, file.checksum, _NAME):
        raise _RefusedError(CORRUPTED)
    return file


def _migrated(legacy: _Legacy, containers: Containers, wrap: str) -> _Checkpoint:
    known = {container_id: (pod_uid, name) for pod_uid, name, container_id in containers}
    entries: dict[str, dict[str, str]] = {}
    for container_id, cpus in sorted((legacy.entries or {}).items()):
        if container_id not in known:
            raise _RefusedError(f"{wrap}: containerID '{container_id}' not found in initial containers list")
        pod_uid, name = known[container_id]
        entries.setdefault(pod_uid, {})[name] = cpus
    return _Checkpoint(legacy.policy, legacy.default, entries)


def _restored(file: _Checkpoint, policy: str, behaviour: Behaviour) -> RestoredCpu:
    if policy != file.policy:
        raise _RefusedError(
            f"configured policy {go_quote(policy)} differs from state checkpoint policy {go_quote(file.policy)}"
        )
    sign = behaviour.reversed_range_sign
    try:
        default = parse_cpuset(file.default, reversed_sign=sign)
    except CpusetError as error:
        raise _RefusedError(f"could not parse default cpu set {go_quote(file.default)}: {error}") from None
    entries: dict[str, dict[str, int]] = {}
    for pod_uid, cpu_sets in sorted((file.entries or {}).items()):
        entries[pod_uid] = {}
        for name, text in sorted((cpu_sets or {}).items()):
            try:
                entries[pod_uid][name] = parse_cpuset(text, reversed_sign=sign)
            except CpusetError as error:
                place = f"container {go_quote(name)} in pod {go_quote(pod_uid)}"
                raise _RefusedError(f"could not parse cpuset {go_quote(text)} for {place}: {error}") from None
    pods = {pod_uid: parse_cpuset(text) for pod_uid, text in (file.pod_entries or {}).items()}
    return RestoredCpu(file.policy, default, entries, pods)
