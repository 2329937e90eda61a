"""The device manager's state file `kubelet_internal_checkpoint`, both ways."""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from numafit.golang.containers import GoField, GoStruct, List, NumberMap, TextMap
from numafit.golang.spew import checksum
from numafit.golang.types import Bytes, Text, Whole, dumped, unmarshal
from numafit.ledger.files.checkpoint import CORRUPTED, RestoreError
from numafit.settings.versions import Behaviour


class DeviceEntry(msgspec.Struct, frozen=True):
    """The devices of one resource that one container holds."""

    pod_uid: str
    container: str
    resource: str
    devices: dict[int, tuple[str, ...]] = {}
    """NUMA node id -> device ids; a device without topology stands under `Behaviour.device_unplaced`."""
    response: bytes = b""
    """The plugin's ContainerAllocateResponse as it came (see `allocate_response`)."""


class DeviceFile(msgspec.Struct, frozen=True):
    """Entries and ids stand in the order of the file: it comes out of Go maps, and the checksum covers it."""

    entries: tuple[DeviceEntry, ...] | None = None
    """None is JSON `null`, which the kubelet writes when nothing is allocated."""
    registered: dict[str, tuple[str, ...]] = {}
    """Resource -> ids of its healthy devices."""


# The shapes of the file with every `null` that JSON allows.
class _Entry(msgspec.Struct, frozen=True):
    pod_uid: str = ""
    container: str = ""
    resource: str = ""
    devices: Mapping[int, tuple[str, ...] | None] | None = None
    response: bytes | None = None


class _ListEntry(msgspec.Struct, frozen=True):
    pod_uid: str = ""
    container: str = ""
    resource: str = ""
    devices: tuple[str, ...] | None = None
    response: bytes | None = None


class _Data(msgspec.Struct, frozen=True):
    entries: tuple[_Entry, ...] | None = ()
    registered: Mapping[str, tuple[str, ...] | None] | None = {}


class _ListData(msgspec.Struct, frozen=True):
    entries: tuple[_ListEntry, ...] | None = ()
    registered: Mapping[str, tuple[str, ...] | None] | None = {}


class _Checkpoint(msgspec.Struct, frozen=True):
    data: _Data = _Data()
    checksum: int = 0


class _ListCheckpoint(msgspec.Struct, frozen=True):
    data: _ListData = _ListData()
    checksum: int = 0


_TEXTS = List(Text())
_WHO = (
    GoField("PodUID", "PodUID", "pod_uid", Text()),
    GoField("ContainerName", "ContainerName", "container", Text()),
    GoField("ResourceName", "ResourceName", "resource", Text()),
)
_PER_NUMA = NumberMap(Whole("int64", 64, signed=True), _TEXTS, "checkpoint.DevicesPerNUMA")
_RESPONSE = GoField("AllocResp", "AllocResp", "response", Bytes())
_ENTRY_NAME = "checkpoint.PodDevicesEntry"
_ENTRY = GoStruct(_ENTRY_NAME, _Entry, *_WHO, GoField("DeviceIDs", "DeviceIDs", "devices", _PER_NUMA), _RESPONSE)
_LIST_ENTRY = GoStruct(_ENTRY_NAME, _ListEntry, *_WHO, GoField("DeviceIDs", "DeviceIDs", "devices", _TEXTS), _RESPONSE)
_REGISTERED = GoField("RegisteredDevices", "RegisteredDevices", "registered", TextMap(_TEXTS))
_SUM = GoField("Checksum", "Checksum", "checksum", Whole("checksum.Checksum", 64, signed=False))

_DATA_NAME = "checkpoint.checkpointData"
_DATA = GoStruct(
    _DATA_NAME, _Data, GoField("PodDeviceEntries", "PodDeviceEntries", "entries", List(_ENTRY)), _REGISTERED
)
# hashed under the type names of the current layout
_LIST_DATA = GoStruct(
    _DATA_NAME, _ListData, GoField("PodDeviceEntries", "PodDeviceEntries", "entries", List(_LIST_ENTRY)), _REGISTERED
)
_FILE = GoStruct("checkpoint.Data", _Checkpoint, GoField("Data", "Data", "data", _DATA), _SUM)
_LIST_FILE = GoStruct("checkpoint.DataV1", _ListCheckpoint, GoField("Data", "Data", "data", _LIST_DATA), _SUM)


def _data(file: DeviceFile) -> _Data:
    entries = None
    if file.entries is not None:
        entries = tuple(
            _Entry(entry.pod_uid, entry.container, entry.resource, entry.devices, entry.response)
            for entry in file.entries
        )
    return _Data(entries, file.registered)


def device_dump(file: DeviceFile) -> str:
    """The text whose hash is the checksum; it covers the contents, not the checksum field."""
    return dumped(_DATA, _data(file))


def device_bytes(file: DeviceFile) -> str:
    return _FILE.encode(_Checkpoint(_data(file), checksum(device_dump(file))))


def parse_device(data: str | bytes) -> DeviceFile:
    """The contents of the file without any verification; RestoreError with Go's text where it is not one."""
    file, error = unmarshal(data, _FILE, _Checkpoint())
    if error:
        raise RestoreError(str(error))
    return _restored(file.data)


def read_device(data: str | bytes, behaviour: Behaviour) -> DeviceFile:
    """The file's contents, or RestoreError with the text that the kubelet logs before it goes on with nothing.

    A plain list of ids (kubelet 1.19 and before) counts as devices of NUMA node 0, where the release reads it at all.
    """
    file, error = _verified(data)
    if file is not None:
        return _restored(file)
    if behaviour.device_list_form:
        old, old_error = unmarshal(data, _LIST_FILE, _ListCheckpoint())
        if not old_error and checksum(dumped(_LIST_DATA, old.data)) == old.checksum:
            return _from_lists(old.data)
    raise RestoreError(error)


# Advice starts many kubelets over the same file.
@lru_cache(maxsize=4)
def _verified(data: str | bytes) -> tuple[_Data | None, str]:
    """Its contents, or none and why."""
    file, error = unmarshal(data, _FILE, _Checkpoint())
    if not error and checksum(dumped(_DATA, file.data)) == file.checksum:
        return file.data, ""
    return None, str(error or CORRUPTED)


def _restored(data: _Data) -> DeviceFile:
    entries = None
    if data.entries is not None:
        entries = tuple(
            DeviceEntry(
                entry.pod_uid,
                entry.container,
                entry.resource,
                {numa: ids or () for numa, ids in (entry.devices or {}).items()},
                entry.response or b"",
            )
            for entry in data.entries
        )
    return DeviceFile(entries, _registered(data.registered))


def _from_lists(data: _ListData) -> DeviceFile:
    entries = tuple(
        DeviceEntry(entry.pod_uid, entry.container, entry.resource, {0: entry.devices or ()}, entry.response or b"")
        for entry in data.entries or ()
    )
    return DeviceFile(entries or None, _registered(data.registered))


def _registered(registered: Mapping[str, tuple[str, ...] | None] | None) -> dict[str, tuple[str, ...]]:
    return {resource: ids or () for resource, ids in (registered or {}).items()}
