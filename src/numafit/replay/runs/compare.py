"""Whether what numafit says after an event is what was seen.

Where the kubelet chooses by chance, counts are compared: of a container's devices, how many lie on each NUMA node. Of
the device file, the answers of plugins are left out: those of a run were of its own plugins.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.quantity import QuantityError, parse_quantity
from numafit.replay.comparison import MISSING, Mismatch, mismatch
from numafit.replay.outcomes import Json


def unlike(expected: Json, actual: Json, path: str = "") -> Mismatch | None:
    """The first difference. What `expected` does not tell is not compared."""
    if "crash" in expected or "crash" in actual:
        return _crash(expected.get("crash"), actual.get("crash"), f"{path}/crash")
    parts = (
        ("decisions", _decisions),
        ("files", _files),
        ("allocatable", _amounts),
    )
    for name, plain in parts:
        if name not in expected:
            continue
        sides = plain(expected[name]), plain(actual.get(name) or type(expected[name])())
        if name == "files":
            sides = sides[0], {file: content for file, content in sides[1].items() if file in sides[0]}
        found = mismatch(sides[0], sides[1], f"{path}/{name}")
        if found is not None:
            # A wrong checksum tells less than what is wrong under it.
            return mismatch(_without_checksums(sides[0]), _without_checksums(sides[1]), f"{path}/{name}") or found
    return None


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


def _decisions(decisions: Iterable[Mapping[str, Any]]) -> Json:
    """By kind and pod. The order in which static pods are admitted again is left to chance."""
    return {
        f"{each.get('kind', 'admission')} {each['pod']}": {
            "admitted": each["admitted"],
            "reason": each.get("reason") or "",
            "message": each.get("message") or "",
        }
        for each in decisions
    }


def _files(files: Mapping[str, Any]) -> Json:
    read = {
        name: msgspec.json.decode(content) if isinstance(content, str) else content for name, content in files.items()
    }
    plain: Json = {}
    if CPU_FILE in read:
        plain[CPU_FILE] = read[CPU_FILE]
    if MEMORY_FILE in read:
        plain[MEMORY_FILE] = _memory(read[MEMORY_FILE])
    if DEVICE_FILE in read:
        plain[DEVICE_FILE] = _devices(read[DEVICE_FILE]["Data"])
    return plain


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


def _devices(data: Json) -> Json:
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
