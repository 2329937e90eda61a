"""Kinds of links."""

import pytest

from numafit.machine.links import generation_of, link_meaning, link_score, nvlinks, rate_text


@pytest.mark.parametrize(
    ("kind", "score"),
    [("SYS", 10), ("NODE", 20), ("PHB", 30), ("PXB", 40), ("PIX", 50), ("NV1", 100), ("NV18", 1800), ("?", 0)],
)
def test_scores_are_those_of_the_plugin(kind: str, score: int) -> None:
    """NVIDIA's device plugin, best-effort allocation."""
    assert link_score(kind) == score


@pytest.mark.parametrize(("kind", "links"), [("NV12", 12), ("NV", 0), ("NODE", 0), ("NV-1", 0), ("NV99999", 0)])
def test_nvlinks_are_counted(kind: str, links: int) -> None:
    """Only `NV` and a number."""
    assert nvlinks(kind) == links


@pytest.mark.parametrize(
    ("name", "kind", "rate"),
    [
        ("Tesla P100-PCIE-16GB", "SYS", "8 GB/s"),
        ("NVIDIA A100-SXM4-80GB", "NV12", "300 GB/s"),
        ("NVIDIA H100 80GB HBM3", "NV18", "450 GB/s"),
        ("NVIDIA GB200", "NV18", "900 GB/s"),
        ("NVIDIA L40S", "PIX", "26 GB/s"),
        ("NVIDIA A10", "NODE", "22 GB/s"),
        ("Quadro of a friend", "PIX", "13 to 54 GB/s"),
        ("", "NV4", "80 to 200 GB/s"),
        ("NVIDIA H200", "odd", ""),
    ],
)
def test_rates_follow_the_product(name: str, kind: str, rate: str) -> None:
    """NVLink carries 20 (P100), 25 or 50 (Blackwell) GB/s a link and direction; PCIe goes by its generation."""
    assert rate_text(kind, generation_of(name)) == rate


def test_a_bond_says_its_number() -> None:
    """`NV#` is a pattern in the legend of nvidia-smi."""
    assert link_meaning("NV12") == "a bond of 12 NVLinks, directly or through NVSwitch"
    assert link_meaning("odd") == "not known to numafit"
