"""The links between GPUs in words: the matrix, what its kinds mean, the groups it implies and the best sets."""

from collections.abc import Iterator, Sequence

from numafit.machine.draw.blocks import wrap
from numafit.machine.draw.tables import aligned
from numafit.machine.draw.words import count_text, device_label, printable
from numafit.machine.gpu_sets import BestSet, Pairs, best_set, groups_of, pairs_of, preferred_set
from numafit.machine.link_kinds import LINK_KINDS, generation_of, link_meaning, link_score, nvlinks, rate_text
from numafit.machine.model import Machine

SIZES = (1, 2, 4, 5, 8)
_LEAST_MEANING = 16
"""Columns for the meaning of a kind, however narrow the terminal."""


def draw_links(machine: Machine, sizes: Sequence[int] = SIZES, width: int = 80) -> str:
    pairs = pairs_of(machine)
    if not pairs.gpus:
        return "no GPU is known\n"
    parts = [matrix_text(pairs), "\n".join(_kinds(pairs, width)), "\n".join(_groups(pairs, width))]
    parts.append("\n".join(_sets(pairs, sizes, width)))
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def matrix_text(pairs: Pairs) -> str:
    labels = [device_label(gpu) for gpu in pairs.gpus]
    numa = [pairs.numa(gpu) for gpu in range(len(labels))]
    rows = [
        (
            label,
            *("X" if a == b else printable(kind) or "?" for b, kind in enumerate(pairs.kinds[a])),
            _node_text(numa[a]),
        )
        for a, label in enumerate(labels)
    ]
    heads = ("", *labels, "NUMA")
    return aligned(heads, rows, left=heads)


def _node_text(node: int | None) -> str:
    return "unknown" if node is None else str(node)


def _kinds(pairs: Pairs, width: int) -> Iterator[str]:
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
    lines = aligned(heads, rows, left=("kind", "one way", "meaning")).splitlines()
    start = lines[0].index("meaning")
    for line in lines:
        first, *others = wrap(line[start:], max(width - start, _LEAST_MEANING), indent="")
        yield line[:start] + first
        yield from (" " * start + other for other in others)
    yield from wrap("score: of a pair, in NVIDIA's device plugin; one way: typical, not measured here", width)
    if pairs.switched:
        yield from wrap("the NVLinks end at an NVSwitch, and the plugin's scores do not count them", width)


def _kind_score(pairs: Pairs, kind: str) -> str:
    scores = {pairs.scores[a][b] for a, row in enumerate(pairs.kinds) for b, other in enumerate(row) if other == kind}
    return str(min(scores)) if len(scores) == 1 else f"{min(scores)}-{max(scores)}"


def _groups(pairs: Pairs, width: int) -> Iterator[str]:
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
        yield from wrap(f"NUMA {_node_text(node)}: {names_text(pairs, nodes[node])}", width)


def _groups_text(pairs: Pairs, groups: Sequence[Sequence[int]]) -> str:
    return " ".join(f"[{names_text(pairs, group)}]" for group in groups)


def names_text(pairs: Pairs, gpus: Sequence[int]) -> str:
    return " ".join(device_label(pairs.gpus[gpu]) for gpu in gpus)


def _sets(pairs: Pairs, sizes: Sequence[int], width: int) -> Iterator[str]:
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


def reason_text(pairs: Pairs, chosen: BestSet) -> str:
    """Why this set, in words."""
    size = len(chosen.gpus)
    node = chosen.split[0][0]
    place = "NUMA node unknown" if node is None else f"NUMA {node}"
    if size == 1:
        near = LINK_KINDS["PIX"].score
        if len({sum(row) for row in pairs.scores}) == 1:
            taken = "any is as good"
        elif max(pairs.scores[chosen.gpus[0]]) < near <= max(map(max, pairs.scores)):
            taken = "it has no partner on its switch"
        else:
            taken = "leaves the best pairs to others"
        return f"{place}; {taken}" if len(pairs.gpus) > 1 else place
    kinds = [pairs.kinds[a][b] for a in chosen.gpus for b in chosen.gpus if a < b]
    worst = min(kinds, key=link_score)
    if not worst:
        linked = "not all links are known"
    elif len(kinds) == 1:
        linked = f"linked by {worst}"
    else:
        linked = f"all pairs {worst}" if len(set(kinds)) == 1 else f"worst pair {worst}"
    if not chosen.crosses:
        return f"{place}; {linked}; score {chosen.score}"
    counts = "+".join(str(count) for _, count in sorted(chosen.split, key=lambda item: -item[1]))
    nodes = ", ".join(_node_text(number) for number, _ in chosen.split)
    largest = max(_per_node(pairs).values())
    text = (
        f"crosses NUMA nodes {nodes} ({counts}): no node has more than {largest} GPUs; {linked}; score {chosen.score}"
    )
    if len({count for _, count in chosen.split}) > 1:
        text += f"; uneven, {' or '.join(map(str, _better_sizes(pairs, size)))} would fit better"
    return text


def _per_node(pairs: Pairs) -> dict[int | None, int]:
    counts: dict[int | None, int] = {}
    for gpu in range(len(pairs.gpus)):
        counts[pairs.numa(gpu)] = counts.get(pairs.numa(gpu), 0) + 1
    return counts


def _better_sizes(pairs: Pairs, size: int) -> list[int]:
    """One whole node, and the next size up that fills several equal nodes."""
    counts = sorted(_per_node(pairs).values(), reverse=True)
    equal = [count for count in counts if count == counts[0]]
    whole = (counts[0] * nodes for nodes in range(2, len(equal) + 1))
    return [counts[0], *[larger for larger in whole if larger > size][:1]]


def links_value(machine: Machine, sizes: Sequence[int] = SIZES) -> dict[str, object]:
    """The same as plain data, for programs."""
    pairs = pairs_of(machine)
    ids = [gpu.id for gpu in pairs.gpus]
    sets = []
    for size in sizes:
        chosen = best_set(pairs, size)
        if chosen is not None:
            sets.append(
                {
                    "size": size,
                    "gpus": [ids[gpu] for gpu in chosen.gpus],
                    "score": chosen.score,
                    "crosses": chosen.crosses,
                    "split": [{"numa": node, "gpus": count} for node, count in chosen.split],
                    "reason": reason_text(pairs, chosen),
                    "pluginOffers": [ids[gpu] for gpu in preferred_set(pairs, size)],
                }
            )
    return {
        "gpus": [
            {"id": gpu.id, "label": device_label(gpu), "numa": pairs.numa(index)}
            for index, gpu in enumerate(pairs.gpus)
        ],
        "links": [
            {"a": ids[a], "b": ids[b], "kind": pairs.kinds[a][b], "score": pairs.scores[a][b]}
            for a in range(len(ids))
            for b in range(a + 1, len(ids))
        ],
        "nvswitch": pairs.switched,
        "sets": sets,
    }
