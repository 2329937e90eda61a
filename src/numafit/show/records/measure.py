"""What was measured: of a machine, and of a command. Rates are bytes per second, times nanoseconds; null is what was
not measured. Seconds of a command are a list, in the order of its rounds."""

from collections.abc import Mapping

import msgspec

from numafit.bits import cpuset_text
from numafit.host.measure.gain import AS_IT_IS, BADLY, LEVEL, WELL, CommandMeasured, Gain
from numafit.host.measure.result import CpuPair, Figure, GpuCopy, Measured, MeasuredNode, NodePair

TEST = "exact Mann-Whitney test, two-sided"


class NodeTaken(msgspec.Struct, frozen=True):
    id: int
    cpus: str
    bytes: int
    proof: str


class NodePairRecord(msgspec.Struct, frozen=True, rename="camel"):
    """CPUs of `node`, memory of `memory`."""

    node: int
    memory: int
    bytes_per_second: Figure | None
    nanoseconds: Figure | None


class CpuPairRecord(msgspec.Struct, frozen=True):
    a: int
    b: int
    kind: str
    nanoseconds: float


class GpuCopyRecord(msgspec.Struct, frozen=True, rename="camel"):
    gpu: str
    bus: str
    name: str
    node: int
    to_gpu: Figure | None
    from_gpu: Figure | None


class MeasuredAnswer(msgspec.Struct, frozen=True):
    """`comparable`: CPUs or memory of more than one NUMA node took part."""

    at: str
    machine: str
    whole: bool
    comparable: bool
    nodes: tuple[NodeTaken, ...]
    pairs: tuple[NodePairRecord, ...]
    cpus: tuple[CpuPairRecord, ...]
    gpus: tuple[GpuCopyRecord, ...]
    notes: tuple[str, ...]


def measured_record(measured: Measured) -> MeasuredAnswer:
    return MeasuredAnswer(
        measured.at,
        measured.machine,
        measured.whole,
        measured.comparable,
        tuple(map(_node, measured.nodes)),
        tuple(map(_pair, measured.pairs)),
        tuple(map(_cpus, measured.cpus)),
        tuple(map(_gpu, measured.gpus)),
        measured.notes,
    )


def _node(node: MeasuredNode) -> NodeTaken:
    return NodeTaken(node.id, cpuset_text(node.cpus), node.memory, node.proof)


def _pair(pair: NodePair) -> NodePairRecord:
    return NodePairRecord(pair.node, pair.memory, pair.bandwidth, pair.latency)


def _cpus(pair: CpuPair) -> CpuPairRecord:
    return CpuPairRecord(pair.a, pair.b, pair.kind, pair.latency)


def _gpu(copy: GpuCopy) -> GpuCopyRecord:
    return GpuCopyRecord(copy.gpu, copy.bus, copy.name, copy.node, copy.to_gpu, copy.from_gpu)


class GainRecord(msgspec.Struct, frozen=True, rename="camel"):
    """`ratio` is seconds of `slow` by seconds of `quick`; below 1 the slow one was the quicker. `more_than_noise` is
    null when there were too few rounds to tell."""

    slow: str
    quick: str
    ratio: float
    low: float
    high: float
    p: float
    more_than_noise: bool | None


class CommandAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """`comparable` false: there is one memory node, and nothing was run."""

    command: tuple[str, ...]
    comparable: bool
    cpus: str
    near: int | None
    far: int | None
    far_by: str
    seconds: Mapping[str, tuple[float, ...]]
    gains: tuple[GainRecord, ...]
    test: str
    level: float
    whole: bool


def command_record(measured: CommandMeasured) -> CommandAnswer:
    places = measured.places
    pairs = ((AS_IT_IS, WELL), (BADLY, WELL))
    gains = [(slow, quick, measured.gain(slow, quick)) for slow, quick in pairs]
    return CommandAnswer(
        measured.command,
        True,
        cpuset_text(places.cpus),
        places.near,
        places.far,
        places.far_by,
        measured.seconds,
        tuple(_gain(slow, quick, gain) for slow, quick, gain in gains if gain is not None),
        TEST,
        LEVEL,
        measured.whole,
    )


def _gain(slow: str, quick: str, gain: Gain) -> GainRecord:
    real = gain.real if gain.enough else None
    return GainRecord(slow, quick, gain.ratio, gain.low, gain.high, gain.chance, real)


def nothing_to_compare(command: tuple[str, ...]) -> CommandAnswer:
    return CommandAnswer(command, False, "", None, None, "", {}, (), TEST, LEVEL, True)
