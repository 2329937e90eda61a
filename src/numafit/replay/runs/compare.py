"""Whether what numafit says after an event is what was seen.

Where the kubelet chooses by chance, counts are compared: of a container's devices, how many lie on each NUMA node. Of
the device file, the answers of plugins are left out: those of a run were of its own plugins.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from numafit.ledger.state_files import DEVICE_FILE, MEMORY_FILE
from numafit.quantity import QuantityError, parse_quantity
from numafit.replay.comparison import MISSING, Mismatch, mismatch
from numafit.replay.outcomes import Json

_TOLD = ("reason", "message", "containers")
"""Beside the verdict."""


def unlike(expected: Json, actual: Json, path: str = "") -> Mismatch | None:
    """The first difference. What `expected` does not tell is not compared."""
    if "crash" in expected or "crash" in actual:
        return _crash(expected.get("crash"), actual.get("crash"), f"{path}/crash")
    found = None
    if "decisions" in expected:
        found = _decisions_unlike(expected["decisions"], actual.get("decisions") or (), f"{path}/decisions")
    if found is None and "files" in expected:
        found = _files_unlike(_files(expected["files"]), _files(actual.get("files") or {}), f"{path}/files")
    if found is None and "allocatable" in expected:
        amounts = _amounts(expected["allocatable"]), _amounts(actual.get("allocatable") or {})
        found = mismatch(amounts[0], amounts[1], f"{path}/allocatable")
    if found is None and "allocated" in expected:
        found = _allocated_unlike(expected["allocated"], actual.get("allocated") or {}, f"{path}/allocated")
    if found is None and "waiting" in expected:
        found = mismatch(expected["waiting"], actual.get("waiting") or [], f"{path}/waiting")
    return found


def _allocated_unlike(expected: Json, actual: Json, path: str) -> Mismatch | None:
    """Who is there, and what each container has; null where that was not looked at.

    Up to 1.35 a kubelet writes down nothing of init containers, sidecars aside.
    """
    seen = {uid: _resources(own) for uid, own in expected.items()}
    said = {}
    for uid, own in actual.items():
        told = expected.get(uid, own)
        said[uid] = None if told is None else _resources({name: own[name] for name in own if name in told})
    return mismatch(seen, said, path)


def _resources(containers: Json | None) -> Json | None:
    return containers and {
        name: {kind: _amounts(amounts) for kind, amounts in own.items() if amounts} for name, own in containers.items()
    }


def _files_unlike(expected: Json, actual: Json, path: str) -> Mismatch | None:
    actual = {name: content for name, content in actual.items() if name in expected}
    found = mismatch(expected, actual, path)
    # A wrong checksum tells less than what is wrong under it.
    return found and (mismatch(_without_checksums(expected), _without_checksums(actual), path) or found)


def _without_checksums(content: Json) -> Json:
    return {
        name: {key: own for key, own in value.items() if key != "checksum"} if isinstance(value, dict) else value
        for name, value in content.items()
    }


def _crash(expected: str | None, actual: str | None, path: str) -> Mismatch | None:
    """A run tells the last lines of the log; the reason stands in them, quoted or not."""
    if expected is not None and actual is not None:
        quoted = msgspec.json.encode(actual).decode()[1:-1]
        if actual in expected or quoted in expected or expected in actual:
            return None
    return Mismatch(path, MISSING if expected is None else expected, MISSING if actual is None else actual)


def _decisions_unlike(
    expected: Iterable[Mapping[str, Any]], actual: Iterable[Mapping[str, Any]], path: str
) -> Mismatch | None:
    """By kind and pod: the order in which static pods are admitted again is left to chance.

    Who waits for a resize is refused again and again, which a run tells once.
    """
    seen = _by_pod(expected)
    said = {name: own for name, own in _by_pod(actual).items() if name in seen or not _still_waits(name, own)}
    told = {name: {key: own.get(key) for key in seen[name]} if name in seen else own for name, own in said.items()}
    return mismatch(seen, told, path)


def _still_waits(name: str, own: Json) -> bool:
    return name.startswith("resize ") and not own["admitted"]


def _by_pod(decisions: Iterable[Mapping[str, Any]]) -> dict[str, Json]:
    return {
        f"{each['kind']} {each['pod']}": {key: own for key, own in each.items() if key in ("admitted", *_TOLD)}
        for each in decisions
    }


def _files(files: Mapping[str, Any]) -> Json:
    """Read; what is no JSON stays as it is."""
    plain: Json = {name: _content(content) for name, content in files.items()}
    for name, reader in ((MEMORY_FILE, _memory), (DEVICE_FILE, _devices)):
        if isinstance(plain.get(name), dict):
            plain[name] = reader(plain[name])
    return plain


def _content(content: Any) -> Any:
    try:
        return msgspec.json.decode(content) if isinstance(content, str) else content
    except msgspec.DecodeError:
        return content


def _memory(content: Json) -> Json:
    """The blocks of a container with several types come out of a map, and the checksum with them."""
    entries = {
        uid: {name: sorted(blocks, key=lambda block: str(block["type"])) for name, blocks in own.items()}
        for uid, own in (content.get("entries") or {}).items()
    }
    several = any(len(blocks) > 1 for own in entries.values() for blocks in own.values())
    plain = content | {"entries": entries}
    if several:
        plain.pop("checksum", None)
    return plain


def _devices(content: Json) -> Json:
    data: Json = content.get("Data") or {}
    held: Json = {}
    for entry in data.get("PodDeviceEntries") or ():
        counts = {numa: len(ids) for numa, ids in sorted(entry["DeviceIDs"].items()) if ids}
        held[f"{entry['PodUID']} {entry['ContainerName']} {entry['ResourceName']}"] = counts
    registered = {name: sorted(ids or ()) for name, ids in (data.get("RegisteredDevices") or {}).items()}
    return {"PodDeviceEntries": held, "RegisteredDevices": registered}


def _amounts(amounts: Mapping[str, str]) -> Json:
    return {name: _whole(text) for name, text in amounts.items()}


def _whole(text: str) -> str:
    try:
        return str(parse_quantity(text).milli())
    except QuantityError:
        return text
