"""Whether a computed result is the recorded one, apart from what the kubelet itself leaves to chance.

The kubelet takes the entries of its device file, and the blocks of a container with several memory types, out of Go
maps: these are compared after sorting, and each file must carry the checksum of its own order.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from numafit.errors import KubeletError
from numafit.ledger.files.device import DeviceFile, read_device
from numafit.ledger.files.memory import read_memory
from numafit.ledger.ledger import MemoryFile
from numafit.ledger.state_files import DEVICE_FILE, MEMORY_FILE
from numafit.replay.outcomes import Json
from numafit.settings.versions import Behaviour

MISSING = "(missing)"

GO_JSON_ERRORS = ("json: cannot unmarshal", "invalid character", "unexpected end of JSON input")
"""Texts of Go's JSON decoder differ between Go releases: that there is an error is all that can be compared."""


class Mismatch(msgspec.Struct, frozen=True):
    path: str
    expected: Any
    actual: Any

    def __str__(self) -> str:
        return f"{self.path or '/'}\n  expected {_short(self.expected)}\n  actual   {_short(self.actual)}"


def _short(value: Any, limit: int = 400) -> str:
    text = value if value is MISSING else msgspec.json.encode(value).decode()
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def mismatch(expected: Any, actual: Any, path: str = "") -> Mismatch | None:
    """The first place where two JSON values differ, objects walked in the order of their sorted keys."""
    if expected == actual and type(expected) is type(actual):
        return None
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            found = mismatch(expected.get(key, MISSING), actual.get(key, MISSING), f"{path}/{key}")
            if found is not None:
                return found
        return None
    if isinstance(expected, list) and isinstance(actual, list):
        for i in range(max(len(expected), len(actual))):
            own = [items[i] if i < len(items) else MISSING for items in (expected, actual)]
            found = mismatch(own[0], own[1], f"{path}/{i}")
            if found is not None:
                return found
        return None
    if isinstance(expected, str) and isinstance(actual, str) and any(text in expected for text in GO_JSON_ERRORS):
        return None
    return Mismatch(path, expected, actual)


class ScenarioComparison:
    """Follows the files of both sides: a file that is rewritten in another order, or is not, is the same file."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.expected_files: dict[str, str] = {}
        self.actual_files: dict[str, str] = {}

    def copy(self) -> "ScenarioComparison":
        comparison = ScenarioComparison(self.behaviour)
        comparison.expected_files = dict(self.expected_files)
        comparison.actual_files = dict(self.actual_files)
        return comparison

    def part(self, expected: Json, actual: Json, path: str) -> Mismatch | None:
        """Compare the start, or one step."""
        expected, actual = dict(expected), dict(actual)
        for key in ("files", "filesAfterStart"):
            expected_files = self._follow(self.expected_files, expected, key)
            actual_files = self._follow(self.actual_files, actual, key)
            found = self._files(expected_files, actual_files, f"{path}/{key}")
            if found is not None:
                return found
        return mismatch(expected, actual, path)

    @staticmethod
    def _follow(current: dict[str, str], record: Json, key: str) -> dict[str, str]:
        files: dict[str, str] = record.pop(key, None) or {}
        current.update(files)
        return files

    def _files(self, expected: Mapping[str, str], actual: Mapping[str, str], path: str) -> Mismatch | None:
        for name in sorted(expected.keys() | actual.keys()):
            texts = expected.get(name, MISSING), actual.get(name, MISSING)
            if texts[0] == texts[1]:
                continue
            if name in (DEVICE_FILE, MEMORY_FILE):
                texts = self.expected_files.get(name, MISSING), self.actual_files.get(name, MISSING)
                if self._sorted_file(name, texts[0]) == self._sorted_file(name, texts[1]):
                    continue
            return Mismatch(f"{path}/{name}", *texts)
        return None

    def _sorted_file(self, name: str, text: str) -> object:
        if name == DEVICE_FILE:
            try:
                return _sorted_devices(read_device(text, self.behaviour))
            except KubeletError:
                return text
        return self._sorted_memory(text)

    def _read_memory(self, text: str, *, gate: bool) -> MemoryFile | None:
        """None when the file does not carry the checksum of its contents."""
        try:
            policy = msgspec.json.decode(text)["policyName"]
            return read_memory(text, policy=policy, behaviour=self.behaviour, gate=gate, state_dir="")
        except (msgspec.DecodeError, KubeletError, KeyError, TypeError):
            return None

    def _sorted_memory(self, text: str) -> object:
        content = self._read_memory(text, gate=True) or self._read_memory(text, gate=False)
        if content is None:
            return text
        entries = {
            uid: {name: sorted(blocks, key=str) for name, blocks in containers.items()}
            for uid, containers in content.entries.items()
        }
        pods = {uid: sorted(blocks, key=str) for uid, blocks in content.pod_entries.items()}
        return content.policy, content.nodes, entries, pods


def _sorted_devices(content: DeviceFile) -> object:
    entries = {
        (entry.pod_uid, entry.container, entry.resource): (
            {node: sorted(ids) for node, ids in entry.devices.items()},
            entry.response,
        )
        for entry in content.entries or ()
    }
    return entries, {resource: sorted(ids) for resource, ids in content.registered.items()}
