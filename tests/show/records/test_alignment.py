"""How a holder lies, for programs and in a sentence."""

import pytest

from numafit.advice.verdict import HeldPart, HolderVerdict, UnitLying
from numafit.show.records.alignment import AlignmentRecord, PartRecord, alignment_record, counts_text, why_text

CPUS, MEMORY = HeldPart("cpu", 0b01), HeldPart("memory", 0b01)
GPU = "nvidia.com/gpu"
FAR = HeldPart(GPU, 0b10, "uuid-4", ("cpu", "memory"))
ALSO = HeldPart(GPU, 0b10, "x", ("cpu", "memory"))
LABELS = {"uuid-4": "GPU4"}


def one(unit: UnitLying) -> HolderVerdict:
    return HolderVerdict(unit.lying, (unit,))


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (one(UnitLying("app", "aligned", 0b01, 1, (CPUS, MEMORY))), "all on NUMA node 0"),
        (one(UnitLying("", "aligned", 0b11, 2, (CPUS,))), "on NUMA nodes 0-1, and no fewer could hold it"),
        (
            one(UnitLying("app", "split", 0b11, 1, (HeldPart("cpu", 0b11), MEMORY, HeldPart(GPU, 0b10, "uuid-4")))),
            "CPUs on NUMA nodes 0-1, memory on NUMA node 0, GPU4 on NUMA node 1; "
            "one NUMA node has room for all of it when nobody else is there",
        ),
        (
            one(
                UnitLying(
                    "app", "remote GPU", 0b11, 1, (CPUS, MEMORY, HeldPart(GPU, 0b10, "uuid-4", ("cpu", "memory")))
                )
            ),
            "GPU4 hangs on NUMA node 1, its CPUs and memory are on NUMA node 0",
        ),
        (
            one(
                UnitLying(
                    "app",
                    "remote GPU",
                    0b111,
                    1,
                    (CPUS, HeldPart("memory", 0b100), FAR),
                )
            ),
            "GPU4 hangs on NUMA node 1, its CPUs are on NUMA node 0, its memory is on NUMA node 2",
        ),
        (
            one(UnitLying("app", "remote GPU", 0b11, 1, (CPUS, FAR, ALSO, MEMORY))),
            "GPU4 and x hang on NUMA node 1, the CPUs and memory are on NUMA node 0",
        ),
        (one(UnitLying("app", "shared", 0b01, 1, (MEMORY,))), "no exclusive CPUs; memory on NUMA node 0"),
        (one(UnitLying("app", "shared", 0, 0, (HeldPart(GPU, 0, "x"),))), "no exclusive CPUs"),
        (HolderVerdict("shared"), "no exclusive CPUs, and nothing that is pinned to a NUMA node"),
        (
            HolderVerdict(
                "split",
                (
                    UnitLying("app", "aligned", 0b01, 1, (CPUS,)),
                    UnitLying("side", "split", 0b111, 2, (HeldPart("cpu", 0b111),)),
                ),
            ),
            "side: CPUs on NUMA nodes 0-2; 2 NUMA nodes have room for all of it when nobody else is there",
        ),
    ],
)
def test_why_it_lies_so_is_one_sentence(found: HolderVerdict, why: str) -> None:
    assert why_text(found, LABELS) == why


def test_the_parts_are_those_that_make_it_so() -> None:
    """Of two containers the one that is split."""
    units = (
        UnitLying("app", "aligned", 0b01, 1, (CPUS,)),
        UnitLying("side", "split", 0b11, 1, (HeldPart("cpu", 0b11),)),
    )
    why = "side: CPUs on NUMA nodes 0-1; one NUMA node has room for all of it when nobody else is there"
    assert alignment_record(HolderVerdict("split", units), {}) == AlignmentRecord(
        "split", why, (PartRecord("side", "cpu", "", (0, 1), ()),)
    )


def test_counts_are_one_line() -> None:
    found = [HolderVerdict("aligned")] * 3 + [HolderVerdict("remote GPU"), HolderVerdict("split")]
    assert counts_text(found) == "3 aligned · 1 split · 1 remote GPU"
