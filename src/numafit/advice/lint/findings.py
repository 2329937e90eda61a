"""What lint says: all codes; a finding with its position and cure, and the edit that cures it where that is safe."""

from typing import Literal, NamedTuple

import msgspec

from numafit.advice.inspection.places import Position

Severity = Literal["error", "warning", "info"]


class Edit(msgspec.Struct, frozen=True):
    """At this place `old` stands and `new` is meant."""

    place: Position
    old: str
    new: str


class Finding(msgspec.Struct, frozen=True):
    code: str
    severity: Severity
    place: Position
    message: str
    cure: str = ""
    edit: Edit | None = None

    @property
    def order(self) -> tuple[int, int, str, str]:
        """Within a file: by place, then by code."""
        return self.place.line, self.place.column, self.code, self.message


def edited(text: str, edits: list[Edit]) -> str:
    """Edits whose old text does not stand where it should are left out; of two at one place the first one counts."""
    lines = text.split("\n")
    seen: set[tuple[int, int]] = set()
    for edit in sorted(edits, key=lambda edit: (edit.place.line, edit.place.column), reverse=True):
        line, column = edit.place.line - 1, edit.place.column - 1
        if line >= len(lines) or (line, column) in seen or not lines[line].startswith(edit.old, column):
            continue
        seen.add((line, column))
        row = lines[line]
        lines[line] = row[:column] + edit.new + row[column + len(edit.old) :]
    return "\n".join(lines)


class Code(NamedTuple):
    severity: Severity
    title: str


CODES: dict[str, Code] = {
    "NF001": Code("error", "the file cannot be read"),
    "NF002": Code("error", "the file is nothing that lint knows"),
    "NF003": Code("info", "the configuration file that the flags name was not given"),
    "NF004": Code("warning", "the file holds only kinds without pods"),
    "NF101": Code("error", "the kubelet cannot decode its configuration"),
    "NF102": Code("error", "a feature gate is unknown or cannot be set"),
    "NF103": Code("error", "the kubelet's own validation refuses the configuration"),
    "NF104": Code("error", "a flag is unknown or has a bad value"),
    "NF105": Code("error", "a policy or scope has no such name"),
    "NF106": Code("error", "a value needs quotes"),
    "NF110": Code("error", "reserved memory does not add up"),
    "NF111": Code("error", "the static CPU policy has no CPU reserved"),
    "NF112": Code("error", "a policy option is unknown, lacks its gate or has a bad value"),
    "NF113": Code("error", "policy options exclude each other"),
    "NF114": Code("error", "the reservation does not fit the machine"),
    "NF115": Code("error", "the machine has too many NUMA nodes for the topology manager"),
    "NF119": Code("error", "the kubelet would not start"),
    "NF201": Code("warning", "a field is unknown to this release and ignored"),
    "NF202": Code("warning", "a partial evictionHard drops the default thresholds"),
    "NF203": Code("warning", "reserved CPUs split cores under full-pcpus-only"),
    "NF204": Code("warning", "settings defeat each other"),
    "NF205": Code("warning", "a setting has no effect"),
    "NF206": Code("info", "reservedSystemCPUs replaces the reserved amounts of cpu"),
    "NF207": Code("warning", "a topology policy without the managers that it aligns"),
    "NF208": Code("info", "memory is not aligned"),
    "NF209": Code("warning", "a NUMA node has less memory than is reserved of it"),
    "NF210": Code("info", "a fraction of a reserved CPU is rounded up"),
    "NF301": Code("error", "the API server would refuse the manifest"),
    "NF310": Code("warning", "whole CPUs in a Burstable pod are not exclusive"),
    "NF311": Code("warning", "one container makes the whole pod Burstable"),
    "NF312": Code("warning", "a fraction of a CPU keeps a container in the shared pool"),
    "NF313": Code("warning", "devices without CPUs beside them"),
    "NF314": Code("warning", "devices of claims and exclusive CPUs, which nobody aligns"),
    "NF320": Code("warning", "hard-coded devices"),
    "NF321": Code("warning", "hard-coded CPUs"),
    "NF322": Code("warning", "the number of threads differs from the CPUs"),
    "NF323": Code("warning", "no /dev/shm for a job on several GPUs"),
    "NF330": Code("warning", "no NUMA node has so many devices"),
    "NF331": Code("warning", "no NUMA node has so much CPU or memory"),
    "NF332": Code("error", "an idle node would reject the pod"),
    "NF333": Code("error", "init containers or sidecars cause the rejection"),
    "NF334": Code("warning", "init containers or sidecars decide where the pod lies"),
    "NF335": Code("warning", "this kubelet does not know sidecars"),
    "NF401": Code("warning", "passDeviceSpecs is off beside a static CPU manager"),
    "NF402": Code("error", "the device plugin refuses a value"),
    "NF403": Code("error", "sharing strategies contradict each other"),
    "NF404": Code("warning", "shared GPUs may come twice to one container"),
}


def finding(code: str, place: Position, message: str, cure: str = "", edit: Edit | None = None) -> Finding:
    return Finding(code, CODES[code].severity, place, message, cure, edit)
