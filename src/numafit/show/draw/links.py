"""The links between GPUs in words: the matrix, what its kinds mean, the groups it implies and the best sets."""

from collections.abc import Iterator, Sequence

from numafit.amounts import count_text
from numafit.machine.gpu_sets import GpuPairs, best_set, groups_of, node_text, pairs_of, preferred_set, reason_text
from numafit.machine.links import LINK_KINDS, generation_of, link_meaning, link_score, nvlinks, rate_text
from numafit.machine.model import Machine
from numafit.show.draw.blocks import wrap
from numafit.show.draw.tables import columns
from numafit.show.table import PLAIN, Screen, matrix
from numafit.show.words import device_label, printable

SIZES = (1, 2, 4, 5, 8)
"""How many GPUs a set has whose best choice is shown, where nobody asks for others."""
_LEAST_MEANING = 16
"""Columns for the meaning of a kind, however narrow the terminal."""


def draw_links(machine: Machine, sizes: Sequence[int] = SIZES, width: int = 80) -> str:
    pairs = pairs_of(machine)
    if not pairs.gpus:
        return "no GPU is known\n"
    parts = [matrix_text(pairs, Screen(width)), "\n".join(_kinds(pairs, width)), "\n".join(_groups(pairs, width))]
    parts.append("\n".join(_sets(pairs, sizes, width)))
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def matrix_text(pairs: GpuPairs, screen: Screen = PLAIN) -> str:
    labels = [device_label(gpu) for gpu in pairs.gpus]
    numa = [pairs.numa(gpu) for gpu in range(len(labels))]
    rows = [
        (
            label,
            *("X" if a == b else printable(kind) or "?" for b, kind in enumerate(pairs.kinds[a])),
            node_text(numa[a]),
        )
        for a, label in enumerate(labels)
    ]
    return matrix([("", *labels, "NUMA"), *rows], screen=screen)


def _kinds(pairs: GpuPairs, width: int) -> Iterator[str]:
    """The kinds that occur, nearest first."""
    found = {kind for row in pairs.kinds for kind in row if kind}
    if not found:
        return
    names = {gpu.name for gpu in pairs.gpus}
    generation = generation_of(names.pop()) if len(names) == 1 else None
    rows = [
        (kind, str(_kind_score(pairs, kind)), rate_text(kind, generation), link_meaning(kind))
        for kind in sorted(found, key=lambda kind: (-link_score(kind), kind))
    ]
    heads = ("kind", "score", "one way", "meaning")
    lines = columns(heads, rows, left=("kind", "one way", "meaning")).splitlines()
    start = lines[0].index("meaning")
    for line in lines:
        first, *others = wrap(line[start:], max(width - start, _LEAST_MEANING), indent="")
        yield line[:start] + first
        yield from (" " * start + other for other in others)
    yield from wrap("score: of a pair, in NVIDIA's device plugin; one way: typical, not measured here", width)
    if pairs.switched:
        yield from wrap("the NVLinks end at an NVSwitch, and the plugin's scores do not count them", width)


def _kind_score(pairs: GpuPairs, kind: str) -> str:
    scores = {pairs.scores[a][b] for a, row in enumerate(pairs.kinds) for b, other in enumerate(row) if other == kind}
    return str(min(scores)) if len(scores) == 1 else f"{min(scores)}-{max(scores)}"


def _groups(pairs: GpuPairs, width: int) -> Iterator[str]:
    direct = max((nvlinks(kind) for row in pairs.kinds for kind in row), default=0)
    levels = [("NVLink", 100)] if direct else []
    levels += [("one switch", LINK_KINDS["PIX"].score), ("one PCIe tree", LINK_KINDS["PXB"].score)]
    seen: list[tuple[int, ...]] | None = None
    for name, least in levels:
        groups = [group for group in groups_of(pairs, least) if len(group) > 1]
        if groups and groups != seen:
            yield from wrap(f"{name}: {_groups_text(pairs, groups)}", width)
        seen = groups
    nodes: dict[int | None, list[int]] = {}
    for gpu in range(len(pairs.gpus)):
        nodes.setdefault(pairs.numa(gpu), []).append(gpu)
    for node in sorted(nodes, key=lambda node: (node is None, node or 0)):
        yield from wrap(f"NUMA {node_text(node)}: {names_text(pairs, nodes[node])}", width)


def _groups_text(pairs: GpuPairs, groups: Sequence[Sequence[int]]) -> str:
    return " ".join(f"[{names_text(pairs, group)}]" for group in groups)


def names_text(pairs: GpuPairs, gpus: Sequence[int]) -> str:
    return " ".join(device_label(pairs.gpus[gpu]) for gpu in gpus)


def _sets(pairs: GpuPairs, sizes: Sequence[int], width: int) -> Iterator[str]:
    too_many = [size for size in sizes if size > len(pairs.gpus)]
    for size in sizes:
        chosen = best_set(pairs, size)
        if chosen is None:
            continue
        text = f"{count_text(size, 'GPU')}: {names_text(pairs, chosen.gpus)}; {reason_text(pairs, chosen)}"
        # For one GPU the plugin offers whichever comes first.
        preferred = preferred_set(pairs, size) if size > 1 else ()
        if preferred and tuple(sorted(preferred)) != chosen.gpus:
            text += (
                f"; NVIDIA's plugin, which counts pair scores only, offers {names_text(pairs, preferred)}"
                f" (score {pairs.score(preferred)} against {chosen.score})"
            )
        yield from wrap(text, width)
    if too_many:
        has = f"only {count_text(len(pairs.gpus), 'GPU')}"
        yield from wrap(f"{' or '.join(map(str, too_many))} GPUs: the machine has {has}", width)
