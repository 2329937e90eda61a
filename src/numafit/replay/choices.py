"""Choices that follow a recorded outcome: is it one of those that Go's random map order allows?"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, permutations
from math import factorial
from typing import Any, TypeVar

import msgspec

from numafit.bits import parse_cpuset
from numafit.ledger.state_files import DEVICE_FILE
from numafit.managers.protocol import Choices

T = TypeVar("T")


class RecordedChoices(Choices):
    """Takes what the record of one admission holds. `variant` numbers the orders that a record does not tell."""

    def __init__(self, record: Mapping[str, Any], variant: int = 0) -> None:
        self.containers: Mapping[str, Any] = record.get("containers") or {}
        self.message: str = record.get("message") or ""
        self.reserved: str = record.get("reservedCPUs") or ""
        self.record = record
        self.variant = variant

    def _held(self, container: str) -> Mapping[str, Any]:
        if not self.containers:
            return self._written(container)
        devices: Mapping[str, Any] = (self.containers.get(container) or {}).get("devices") or {}
        return devices

    def _written(self, container: str) -> Mapping[str, Any]:
        """A panic leaves no list of containers, only the file that was written before it."""
        text = (self.record.get("files") or {}).get(DEVICE_FILE)
        if text is None:
            return {}
        entries = msgspec.json.decode(text)["Data"]["PodDeviceEntries"] or ()
        return {
            entry["ResourceName"]: {device for ids in entry["DeviceIDs"].values() for device in ids}
            for entry in entries
            if entry["PodUID"] == self.record.get("uid") and entry["ContainerName"] == container
        }

    def devices(self, container: str, resource: str, candidates: Iterable[str], count: int) -> Sequence[str]:
        told = self._held(container).get(resource, {})
        return sorted(candidates, key=lambda device: (device not in told, device))

    def resources(self, container: str, names: Iterable[str]) -> Sequence[str]:
        """Those that were allocated come first, then the one that failed."""
        held = self._held(container)

        def rank(name: str) -> tuple[bool, bool, str]:
            return name not in held, f" {name}" not in self.message, name

        return self._permuted(sorted(names, key=rank))

    def stale(self, containers: Iterable[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        return self._permuted(sorted(containers))

    def nodes(self, nodes: Iterable[int]) -> Sequence[int]:
        return self._permuted(sorted(nodes))

    def _permuted(self, ordered: list[T]) -> Sequence[T]:
        """The variant is a number of mixed radix: each list uses up one digit of it."""
        self.variant, digit = divmod(self.variant, factorial(len(ordered)))
        return next(islice(permutations(ordered), digit, None))

    def cpus(self, container: str, outcomes: Iterator[int]) -> int:
        """The record says only what the container holds in the end: any part of that will do."""
        text = self.record.get("cpus") if not self.containers else (self.containers.get(container) or {}).get("cpus")
        told = parse_cpuset(text or self.reserved) if container or text else parse_cpuset(self.reserved)
        first = None
        for outcome in outcomes:
            first = outcome if first is None else first
            if outcome & ~told == 0:
                return outcome
        return first or 0
