"""Who holds which CPUs and devices of a node: by the kubelet's state files, and by its PodResources socket."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from numafit.bits import members, parse_cpuset
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, state_path
from tests.kube.api import Json

Held = Mapping[str, frozenset[str]]
"""Pod -> what it holds of one kind."""


class Holdings(msgspec.Struct, frozen=True):
    cpus: Held
    devices: Held
    """Resource and device in one word."""

    def twice(self) -> Iterator[str]:
        """What two pods hold, as sentences."""
        for kind, held in (("CPU", self.cpus), ("device", self.devices)):
            owners: dict[str, str] = {}
            for pod, own in held.items():
                for each in own:
                    if each in owners:
                        yield f"{kind} {each} is held by {owners[each]} and {pod}"
                    owners[each] = pod


def in_folder(folder: Path) -> Holdings | None:
    """By UID. None where a file is not there or is being written: a kubelet does not replace its files at once."""
    found = []
    for name in (CPU_FILE, DEVICE_FILE):
        try:
            found.append(json.loads(state_path(folder, name).read_text()))
        except FileNotFoundError:
            found.append({})
        except json.JSONDecodeError:
            return None
    cpus, devices = found
    held: dict[str, frozenset[str]] = {}
    for entry in (devices.get("Data") or {}).get("PodDeviceEntries") or ():
        own = {f"{entry['ResourceName']}={each}" for ids in entry["DeviceIDs"].values() for each in ids or ()}
        held[entry["PodUID"]] = held.get(entry["PodUID"], frozenset()) | own
    entries = cpus.get("entries") or {}
    return Holdings({uid: _cpus(own) for uid, own in entries.items()}, held)


def _cpus(containers: Mapping[str, str]) -> frozenset[str]:
    return frozenset(str(cpu) for own in containers.values() for cpu in members(parse_cpuset(own)))


def of_socket(answer: Json) -> Holdings:
    """By name: what PodResources lists."""
    cpus, devices = {}, {}
    for pod in answer.get("podResources", ()):
        containers = pod.get("containers", ())
        cpus[pod["name"]] = frozenset(str(cpu) for own in containers for cpu in own.get("cpuIds", ()))
        devices[pod["name"]] = frozenset(
            f"{each['resourceName']}={id}"
            for own in containers
            for each in own.get("devices", ())
            for id in each["deviceIds"]
        )
    return Holdings(
        {name: own for name, own in cpus.items() if own}, {name: own for name, own in devices.items() if own}
    )


def needs_cpus(pod: Json) -> bool:
    """Its container gets CPUs of its own."""
    limit = pod["spec"]["containers"][0]["resources"].get("limits", {}).get("cpu", "")
    return bool(pod["status"].get("qosClass") == "Guaranteed" and limit.isdigit())
