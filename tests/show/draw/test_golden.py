"""Drawings that were looked at and found good. NUMAFIT_GOLDEN=1 writes them anew; look at them before you keep them."""

import os
from pathlib import Path

import pytest

from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Machine
from numafit.show.draw.dot import draw_dot
from numafit.show.draw.links import draw_links
from numafit.show.draw.picture.svg import draw_svg
from numafit.show.draw.terminal import draw_text
from tests.show.draw.boxes import large

GOLDEN = Path(__file__).parent / "golden"
TEXTS = ("p100-28cpu", "gpu8-128cpu", "dgx-a100", "gb200", "epyc-nps1", "epyc-l3-numa", "xeon-snc4", "laptop", "large")
PICTURES = ("p100-28cpu", "gpu8-128cpu", "dgx-h100", "gb200", "epyc-nps4", "hybrid-desktop")
LINKS = ("p100-28cpu", "gpu8-128cpu", "dgx-h100")


def machine(name: str) -> Machine:
    return large() if name == "large" else machine_named(name)


def check(file: str, drawn: str) -> None:
    path = GOLDEN / file
    if os.environ.get("NUMAFIT_GOLDEN"):
        path.write_text(drawn)
    assert drawn == path.read_text()


@pytest.mark.parametrize("name", TEXTS)
def test_the_drawing_is_as_it_was(name: str) -> None:
    check(f"{name}.txt", draw_text(machine(name), 80))


def test_the_plain_drawing_is_as_it_was() -> None:
    check("gpu8-128cpu.ascii.txt", draw_text(machine("gpu8-128cpu"), 80, ascii_only=True))


@pytest.mark.parametrize("name", PICTURES)
def test_the_picture_is_as_it_was(name: str) -> None:
    check(f"{name}.svg", draw_svg(machine(name)))


@pytest.mark.parametrize("name", LINKS)
def test_the_links_are_as_they_were(name: str) -> None:
    check(f"{name}.links.txt", draw_links(machine(name)))


def test_the_graph_is_as_it_was() -> None:
    check("gpu8-128cpu.dot", draw_dot(machine("gpu8-128cpu")))
