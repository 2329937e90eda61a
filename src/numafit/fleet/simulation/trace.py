"""Which pods come when and run for how long, from a file.

Two formats are ours: CSV with the columns `arrival`, `run` (seconds; empty: to the end), `cpu`, `memory`, `name` and
`owner` where wanted, and a column for each device by its resource; and JSON lines with `arrival`, `run`, `requests`,
`name` and `owner`. The third is that of the pods in Alibaba's cluster-trace-gpu-v2023, known by its columns.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from numafit.errors import InputError
from numafit.fleet.simulation.controllers import CONTROLLERS, USUAL
from numafit.fleet.simulation.rows import CsvRows
from numafit.notes import Note
from numafit.quantity import Quantity, QuantityError, parse_quantity
from numafit.workload.api_server import resources_problem
from numafit.workload.pod import Container, Pod

OWN = ("arrival", "run", "cpu", "memory", "name", "owner")
ALIBABA = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "deletion_time")
GPU = "nvidia.com/gpu"
MOST_PODS = 1_000_000
SHARED = "trace-gpu-shared"
SERVICE, SERVICE_OWNER = "LS", "ReplicaSet"
"""Alibaba's word for services that must answer soon; who owns a pod is not told there, and they are taken for those of
Deployments, unless somebody says whose all are."""
LATEST = 1e12


class TracePod(msgspec.Struct, frozen=True):
    arrival: float
    """Seconds."""
    run: float | None
    """Seconds from its start to its end; None: it stays."""
    pod: Pod
    owner: str = USUAL
    """The kind of its controller."""


class PodTrace(msgspec.Struct, frozen=True):
    pods: tuple[TracePod, ...]
    """By arrival."""
    notes: tuple[Note, ...] = ()
    """What is assumed."""
    skipped: tuple[str, ...] = ()
    """What is wrong with lines that were left out, with their places."""

    def faster(self, times: float) -> "PodTrace":
        """Pods arrive so many times as fast, and run as long as before."""
        pods = tuple(replace(own, arrival=own.arrival / times) for own in self.pods)
        return replace(self, pods=pods)

    def first(self, most: int) -> "PodTrace":
        return replace(self, pods=self.pods[:most])


class _Line(NamedTuple):
    """What a line says. `shared`: a part of a GPU was asked for."""

    arrival: float
    run: float | None
    requests: Mapping[str, str]
    name: str
    owner: str = ""
    shared: bool = False
    likely: str = USUAL
    """Its owner where nobody tells it."""


class _JsonLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    arrival: float
    requests: dict[str, str | int | float]
    run: float | None = None
    name: str = ""
    owner: str = ""


def read_trace(
    text: str, source: str, *, gpu: str = GPU, whole_cpus: bool = False, owner: str | None = None
) -> PodTrace:
    """`gpu`: the resource of GPUs, where a format has no name for them. `whole_cpus`: CPUs are rounded up, so that a
    pod gets them for itself. `owner`: of pods that have none there; None: as is usual. Lines that are wrong are left
    out; raises InputError where all are, or the columns."""
    lines = _json_lines(text, source) if text.lstrip()[:1] == "{" else _csv_lines(text, source, gpu)
    reading = _Reading(source, whole_cpus, owner)
    for number, line in lines:
        if len(reading.found) >= MOST_PODS:
            raise InputError(f"more than {MOST_PODS} pods", source=source, line=number)
        reading.add(number, line)
    if not reading.found:
        raise reading.skipped[0] if reading.skipped else InputError("there is no pod in it", source=source)
    pods = sorted(reading.found, key=lambda own: own.arrival)
    return PodTrace(tuple(pods), tuple(_shared_note(reading.shared)), tuple(map(str, reading.skipped)))


class _Reading:
    """Pods out of lines; lines that are wrong are kept as what is wrong with them."""

    def __init__(self, source: str, whole_cpus: bool, owner: str | None) -> None:
        self.source, self.whole_cpus, self.owner = source, whole_cpus, owner
        self.found: list[TracePod] = []
        self.skipped: list[InputError] = []
        self.shared = 0
        self._shapes: dict[tuple[tuple[str, str], ...], Mapping[str, Quantity]] = {}

    def add(self, number: int, line: "_Line | InputError") -> None:
        if isinstance(line, InputError):
            self.skipped.append(line)
            return
        try:
            self.found.append(self._pod(number, line))
            self.shared += line.shared
        except InputError as error:
            self.skipped.append(error)

    def _pod(self, number: int, line: "_Line") -> TracePod:
        source = self.source
        _check_times(line, source, number)
        if line.owner and line.owner not in CONTROLLERS:
            cure = f"one of {', '.join(CONTROLLERS)}"
            raise InputError(f'"{line.owner[:60]}" is no owner', source=source, line=number, field="owner", cure=cure)
        key = tuple(line.requests.items())
        if key not in self._shapes:
            self._shapes[key] = _amounts(line.requests, source, number, whole_cpus=self.whole_cpus)
        amounts = self._shapes[key]
        uid = f"trace-{number}"
        pod = Pod(uid, line.name or uid, (Container("main", amounts, amounts),), namespace="trace")
        return TracePod(line.arrival, line.run, pod, line.owner or self.owner or line.likely)


def _shared_note(shared: int) -> Iterator[Note]:
    if shared:
        many = "1 pod asks" if shared == 1 else f"{shared} pods ask"
        yield Note(SHARED, "trace", f"{many} for a part of a GPU and get a whole one: no kubelet shares them")


def _check_times(line: _Line, source: str, number: int) -> None:
    for name, value in (("arrival", line.arrival), ("run", line.run)):
        if value is not None and not 0 <= value <= LATEST:
            raise InputError(f"{value:g} is no number of seconds", source=source, line=number, field=name)


def _amounts(requests: Mapping[str, str], source: str, number: int, *, whole_cpus: bool) -> dict[str, Quantity]:
    found = {}
    for name, text in requests.items():
        try:
            amount = parse_quantity(text)
        except QuantityError as error:
            said = f'"{text[:60]}" is not a quantity: {error}'
            raise InputError(said, source=source, line=number, field=name, cure="like 4, 500m or 16Gi") from None
        if amount.sign < 0:
            raise InputError("is less than nothing", source=source, line=number, field=name)
        if name == "cpu" and whole_cpus:
            amount = Quantity(amount.value())
        found[name] = amount
    problem = resources_problem(found, found)
    if problem is not None:
        name = str(problem.path[-1]) if problem.path else ""
        cure = problem.cure or ("" if "/" in name else "devices have a domain, like nvidia.com/gpu")
        raise InputError(problem.message, source=source, line=number, field=name, cure=cure)
    return {name: amount for name, amount in found.items() if amount.sign}


def _json_lines(text: str, source: str) -> Iterator[tuple[int, _Line | InputError]]:
    decoder = msgspec.json.Decoder(_JsonLine)
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                own = decoder.decode(line)
            except msgspec.MsgspecError as error:
                cure = 'like {"arrival": 0, "run": 60, "requests": {"cpu": "4", "memory": "8Gi"}}'
                yield number, InputError(str(error), source=source, line=number, cure=cure)
                continue
            requests = {name: str(amount) for name, amount in own.requests.items()}
            yield number, _Line(own.arrival, own.run, requests, own.name, own.owner)


def _csv_lines(text: str, source: str, gpu: str) -> Iterator[tuple[int, _Line | InputError]]:
    rows = CsvRows(text, source)
    columns = rows.columns
    if all(name in columns for name in ALIBABA):
        read = _alibaba_line
    else:
        missing = [name for name in ("arrival", "cpu", "memory") if name not in columns]
        if missing:
            cure = "docs/fleet-simulate.md shows the formats"
            raise InputError(f"no column {missing[0]}", source=source, line=1, cure=cure)
        unknown = [name for name in columns if name not in OWN and "/" not in name]
        if unknown:
            cure = f"known are {', '.join(OWN)} and resources like {gpu}"
            raise InputError(f'"{unknown[0][:60]}" is no column of a trace', source=source, line=1, cure=cure)
        read = _own_line
    for number, row in rows:
        if isinstance(row, InputError):
            yield number, row
            continue
        try:
            line = read(row, gpu)
        except _NoNumber as error:
            said = f'{error.column} is "{error.text[:60]}", and no number'
            yield number, InputError(said, source=source, line=number)
            continue
        yield number, line


class _NoNumber(Exception):
    def __init__(self, column: str, text: str) -> None:
        super().__init__(column, text)
        self.column, self.text = column, text


def _seconds(row: Mapping[str, str], column: str) -> float:
    try:
        return float(row[column])
    except ValueError:
        raise _NoNumber(column, row[column]) from None


def _count(row: Mapping[str, str], column: str) -> int:
    try:
        return int(row[column])
    except ValueError:
        raise _NoNumber(column, row[column]) from None


def _own_line(row: Mapping[str, str], gpu: str) -> _Line:
    requests = {name: text for name, text in row.items() if text and name not in ("arrival", "run", "name", "owner")}
    return _Line(
        _seconds(row, "arrival"),
        _seconds(row, "run") if row.get("run") else None,
        requests,
        row.get("name", ""),
        row.get("owner", ""),
    )


def _alibaba_line(row: Mapping[str, str], gpu: str) -> _Line:
    arrival, end = _seconds(row, "creation_time"), _seconds(row, "deletion_time")
    begun = _seconds(row, "scheduled_time") if row.get("scheduled_time") else arrival
    requests = {"cpu": f"{_count(row, 'cpu_milli')}m", "memory": f"{_count(row, 'memory_mib')}Mi"}
    gpus = _count(row, "num_gpu")
    if gpus:
        requests[gpu] = str(gpus)
    likely = SERVICE_OWNER if row.get("qos") == SERVICE else USUAL
    shared = bool(gpus) and _count(row, "gpu_milli") < 1000
    return _Line(arrival, max(end - begun, 0.0), requests, row["name"], "", shared, likely)
