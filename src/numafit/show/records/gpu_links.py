"""The links between GPUs and the best sets of them, for programs."""

from collections.abc import Sequence

from numafit.machine.gpu_sets import best_set, pairs_of, preferred_set, reason_text
from numafit.machine.model import Machine
from numafit.show.draw.links import SIZES
from numafit.show.words import device_label


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
