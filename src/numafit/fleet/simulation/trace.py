"""Which pods come when and run for how long, from a file.

Two formats are ours: CSV with the columns `arrival`, `run` (seconds; empty: to the end), `cpu`, `memory`, `name` where
wanted, and a column for each device by its resource; and JSON lines with `arrival`, `run`, `requests` and `name`. The
third is that of the pods in Alibaba's cluster-trace-gpu-v2023, known by its columns.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from numafit.errors import InputError
from numafit.notes import Note
from numafit.quantity import Quantity, QuantityError, parse_quantity
from numafit.workload.pod import Container, Pod

OWN = ("arrival", "run", "cpu", "memory", "name")
ALIBABA = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "deletion_time")
GPU = "nvidia.com/gpu"
MOST_PODS = 1_000_000
SHARED = "trace-gpu-shared"
LATEST = 1e12


class TracePod(msgspec.Struct, frozen=True):
    arrival: float
    """Seconds."""
    run: float | None
    """Seconds from its start to its end; None: it stays."""
    pod: Pod


class PodTrace(msgspec.Struct, frozen=True):
    pods: tuple[TracePod, ...]
    """By arrival."""
    notes: tuple[Note, ...] = ()
    """What is assumed."""

    def faster(self, times: float) -> "PodTrace":
        """Pods arrive so many times as fast, and run as long as before."""
        pods = tuple(TracePod(own.arrival / times, own.run, own.pod) for own in self.pods)
        return PodTrace(pods, self.notes)

    def first(self, most: int) -> "PodTrace":
        return PodTrace(self.pods[:most], self.notes)


class _Line(NamedTuple):
    """What a line says; `shared`: a part of a GPU was asked for."""

    arrival: float
    run: float | None
    requests: Mapping[str, str]
    name: str
    shared: bool = False


class _JsonLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    arrival: float
    requests: dict[str, str | int | float]
    run: float | None = None
    name: str = ""


def read_trace(text: str, source: str, *, gpu: str = GPU, whole_cpus: bool = False) -> PodTrace:
    """`gpu`: the resource of GPUs, where a format has no name for them. `whole_cpus`: CPUs are rounded up, so that a
    pod gets them for itself. Raises InputError with the line."""
    lines = _json_lines(text, source) if text.lstrip()[:1] == "{" else _csv_lines(text, source, gpu)
    shapes: dict[tuple[tuple[str, str], ...], Mapping[str, Quantity]] = {}
    found: list[TracePod] = []
    shared = 0
    for number, line in lines:
        if len(found) >= MOST_PODS:
            raise InputError(f"more than {MOST_PODS} pods", source=source, line=number)
        _check_times(line, source, number)
        key = tuple(line.requests.items())
        if key not in shapes:
            shapes[key] = _amounts(line.requests, source, number, whole_cpus=whole_cpus)
        amounts = shapes[key]
        uid = f"trace-{number}"
        pod = Pod(uid, line.name or uid, (Container("main", amounts, amounts),), namespace="trace")
        found.append(TracePod(line.arrival, line.run, pod))
        shared += line.shared
    if not found:
        raise InputError("there is no pod in it", source=source)
    found.sort(key=lambda own: own.arrival)
    return PodTrace(tuple(found), tuple(_shared_note(shared)))


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
        if amount.sign:
            found[name] = amount
    return found


def _json_lines(text: str, source: str) -> Iterator[tuple[int, _Line]]:
    decoder = msgspec.json.Decoder(_JsonLine)
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                own = decoder.decode(line)
            except msgspec.MsgspecError as error:
                cure = 'like {"arrival": 0, "run": 60, "requests": {"cpu": "4", "memory": "8Gi"}}'
                raise InputError(str(error), source=source, line=number, cure=cure) from None
            requests = {name: str(amount) for name, amount in own.requests.items()}
            yield number, _Line(own.arrival, own.run, requests, own.name)


def _csv_lines(text: str, source: str, gpu: str) -> Iterator[tuple[int, _Line]]:
    reader = csv.DictReader(io.StringIO(text))
    columns = tuple(reader.fieldnames or ())
    if all(name in columns for name in ALIBABA):
        read = _alibaba_line
    else:
        missing = [name for name in ("arrival", "cpu", "memory") if name not in columns]
        if missing:
            cure = "docs/fleet.md shows the formats"
            raise InputError(f"no column {missing[0]}", source=source, line=1, cure=cure)
        unknown = [name for name in columns if name not in OWN and "/" not in name]
        if unknown:
            cure = f"known are {', '.join(OWN)} and resources like {gpu}"
            raise InputError(f'"{unknown[0][:60]}" is no column of a trace', source=source, line=1, cure=cure)
        read = _own_line
    for row in reader:
        number = reader.line_num
        if None in row or None in row.values():
            raise InputError(f"{len(columns)} fields are needed here", source=source, line=number)
        try:
            yield number, read(row, gpu)
        except ValueError as error:
            raise InputError(f"a number is needed here: {error}", source=source, line=number) from None


def _own_line(row: Mapping[str, str], gpu: str) -> _Line:
    requests = {name: text for name, text in row.items() if text and name not in ("arrival", "run", "name")}
    return _Line(float(row["arrival"]), float(row["run"]) if row.get("run") else None, requests, row.get("name", ""))


def _alibaba_line(row: Mapping[str, str], gpu: str) -> _Line:
    arrival, end = float(row["creation_time"]), float(row["deletion_time"])
    begun = float(row.get("scheduled_time") or arrival)
    requests = {"cpu": f"{int(row['cpu_milli'])}m", "memory": f"{int(row['memory_mib'])}Mi"}
    gpus = int(row["num_gpu"])
    if gpus:
        requests[gpu] = str(gpus)
    return _Line(arrival, max(end - begun, 0.0), requests, row["name"], bool(gpus) and int(row["gpu_milli"]) < 1000)
