"""Feature gates: which ones a kubelet release knows, and which are on once a configuration has spoken.

`AllAlpha` and `AllBeta` set every gate of their stage that the configuration does not name itself.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from numafit.errors import KubeletError
from numafit.golang.text import aggregate_text, bool_text, in_byte_order
from numafit.settings.tables.gates import DEPENDENCIES, HISTORIES
from numafit.settings.versions import KubeVersion, behaviour_of

_ALL = {"AllAlpha": "a", "AllBeta": "b"}


class Gate(NamedTuple):
    default: bool
    locked: bool
    stage: str
    """`a` alpha, `b` beta, `g` general availability, `d` deprecated."""


class GateError(KubeletError):
    """Gates that the kubelet refuses; the text is that of its gate set, without any prefix."""


def default_gates(version: KubeVersion) -> dict[str, bool]:
    return {name: gate.default for name, gate in gates_of(version.minor).items()}


def resolve_gates(version: KubeVersion, overrides: Mapping[str, bool]) -> dict[str, bool]:
    """Every gate of the release with its effective value.

    The kubelet walks the overrides in map order, so which of several bad gates it names is random; here they come in
    byte order. Up to 1.30 it stops at the first one, later it collects them but stops at an unknown one.
    """
    known = gates_of(version.minor)
    errors: list[GateError] = []
    for name in in_byte_order(overrides):
        gate = known.get(name)
        if gate is None:
            text = f"unrecognized feature gate: {name}"
            errors.append(GateError(text, code="gate-unknown", field=("featureGates", name)))
            break
        value = overrides[name]
        if gate.locked and gate.default != value:
            errors.append(
                GateError(
                    f"cannot set feature gate {name} to {bool_text(value)}, "
                    f"feature is locked to {bool_text(gate.default)}",
                    code="gate-locked",
                    field=("featureGates", name),
                )
            )
            if not behaviour_of(version).gate_errors_collected:
                break
    if errors:
        raise _joined(errors)
    effective = default_gates(version)
    for special, stage in _ALL.items():
        if special in overrides:
            effective |= {
                name: overrides[special] for name, gate in known.items() if gate.stage == stage and name not in _ALL
            }
    effective |= overrides
    _check_dependencies(version.minor, effective)
    return effective


def _check_dependencies(minor: int, effective: Mapping[str, bool]) -> None:
    errors = []
    for name, needed in sorted(_dependencies_of(minor).items()):
        missing = [gate for gate in needed if not effective.get(gate, False)]
        if effective.get(name, False) and missing:
            text = f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"
            errors.append(
                GateError(text, code="gate-depends", field=("featureGates", name), facts={"missing": " ".join(missing)})
            )
    if errors:
        raise _joined(errors)


def _joined(errors: list[GateError]) -> GateError:
    return GateError(aggregate_text([str(error) for error in errors]), joins=tuple(errors))


@cache
def gates_of(minor: int) -> dict[str, Gate]:
    gates: dict[str, Gate] = {}
    for name, stages in _rows(HISTORIES):
        for stage in stages:
            locked = stage.endswith("!")
            if int(stage[1:].rstrip("!")) > minor:
                break
            if stage[0] == "x":
                del gates[name]
            else:
                gates[name] = Gate(default=stage[0].isupper(), locked=locked, stage=stage[0].lower())
    return gates


@cache
def _dependencies_of(minor: int) -> dict[str, tuple[str, ...]]:
    known = gates_of(minor)
    dependencies: dict[str, tuple[str, ...]] = {}
    for name, changes in _rows(DEPENDENCIES):
        for change in changes:
            first, _, needed = change.partition("=")
            if name in known and int(first) <= minor:
                dependencies[name] = tuple(needed.split(",")) if needed else ()
    return dependencies


def _rows(table: str) -> Iterator[tuple[str, list[str]]]:
    for row in table.split(";"):
        words = row.split()
        if words:
            yield words[0], words[1:]
