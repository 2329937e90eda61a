"""The links between GPUs and the best sets of them."""

from collections.abc import Iterator, Sequence

import msgspec

from numafit.machine.gpu_sets import GpuPairs, best_set, pairs_of, preferred_set, reason_text
from numafit.machine.model import Machine
from numafit.show.draw.links import SIZES
from numafit.show.words import device_label


class GpuListed(msgspec.Struct, frozen=True):
    id: str
    label: str
    numa: int | None


class LinkListed(msgspec.Struct, frozen=True):
    """`a` and `b` are ids of GPUs; `score` is that of the pair in NVIDIA's device plugin."""

    a: str
    b: str
    kind: str
    score: int


class GpusOnNode(msgspec.Struct, frozen=True):
    numa: int | None
    gpus: int


class SetProposed(msgspec.Struct, frozen=True, rename="camel"):
    size: int
    gpus: tuple[str, ...]
    score: int
    crosses: bool
    split: tuple[GpusOnNode, ...]
    reason: str
    plugin_offers: tuple[str, ...]
    """What NVIDIA's plugin offers, which counts pair scores only."""


class LinksAnswer(msgspec.Struct, frozen=True):
    gpus: tuple[GpuListed, ...]
    links: tuple[LinkListed, ...]
    nvswitch: bool
    sets: tuple[SetProposed, ...]


def links_record(machine: Machine, sizes: Sequence[int] = SIZES) -> LinksAnswer:
    pairs = pairs_of(machine)
    return LinksAnswer(
        tuple(GpuListed(gpu.id, device_label(gpu), pairs.numa(index)) for index, gpu in enumerate(pairs.gpus)),
        tuple(
            LinkListed(pairs.gpus[a].id, pairs.gpus[b].id, pairs.kinds[a][b], pairs.scores[a][b])
            for a in range(len(pairs.gpus))
            for b in range(a + 1, len(pairs.gpus))
        ),
        pairs.switched,
        tuple(_sets(pairs, sizes)),
    )


def _sets(pairs: GpuPairs, sizes: Sequence[int]) -> Iterator[SetProposed]:
    for size in sizes:
        chosen = best_set(pairs, size)
        if chosen is not None:
            yield SetProposed(
                size,
                tuple(pairs.gpus[gpu].id for gpu in chosen.gpus),
                chosen.score,
                chosen.crosses,
                tuple(GpusOnNode(node, count) for node, count in chosen.split),
                reason_text(pairs, chosen),
                tuple(pairs.gpus[gpu].id for gpu in preferred_set(pairs, size)),
            )
