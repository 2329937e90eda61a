"""The picture: well-formed, complete, nothing over anything else."""

import time
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given

from numafit.machine.catalogue.names import catalogue, machine_named
from numafit.machine.model import Device, Machine
from numafit.show.draw.overlay import Overlay
from numafit.show.draw.picture.page import page_of
from numafit.show.draw.picture.palette import DARK, LIGHT
from numafit.show.draw.picture.shapes import Label, Rect, Wire, text_width
from numafit.show.draw.picture.svg import draw_svg
from tests.machine.strategies import any_machines
from tests.show.draw.boxes import few, gpu, large, linked, pairs_box

SVG = "{http://www.w3.org/2000/svg}"
LEAVES = ("core", "efficiency", "isolated", "gpu", "mig", "nic", "nvme", "other", "memory")


def rects(machine: Machine, roles: tuple[str, ...]) -> list[Rect]:
    shapes = page_of(machine, Overlay()).shapes
    return [shape for shape in shapes if isinstance(shape, Rect) and shape.role in roles]


def overlap(a: Rect, b: Rect) -> bool:
    return (
        a.x < b.x + b.width - 0.01
        and b.x < a.x + a.width - 0.01
        and a.y < b.y + b.height - 0.01
        and b.y < a.y + a.height - 0.01
    )


def check_layout(machine: Machine) -> None:
    page = page_of(machine, Overlay())
    boxes = [shape for shape in page.shapes if isinstance(shape, Rect)]
    for roles in (LEAVES, ("node",), ("package",), ("switch",)):
        ordered = sorted((box for box in boxes if box.role in roles), key=lambda box: box.y)
        for place, box in enumerate(ordered):
            for other in ordered[place + 1 :]:
                if other.y >= box.y + box.height:
                    break
                assert not overlap(box, other), (box, other)
    for box in boxes:
        assert 0 <= box.x <= box.x + box.width <= page.width + 0.01
        assert 0 <= box.y <= box.y + box.height <= page.height + 0.01
    for label in page.shapes:
        if isinstance(label, Label):
            width = text_width(label.text, label.role)
            left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
            assert left >= -0.01
            assert left + width <= page.width + 0.01, label


@pytest.mark.parametrize("name", list(catalogue()))
def test_nothing_overlaps_in_the_catalogue(name: str) -> None:
    """Cores, chips, nodes, packages and texts each have their own place on the page."""
    check_layout(machine_named(name))


@few
@given(machine=any_machines())
def test_nothing_overlaps_in_any_machine(machine: Machine) -> None:
    """Also with half of it unknown."""
    check_layout(machine)


@few
@given(machine=any_machines())
def test_every_machine_is_well_formed_xml(machine: Machine) -> None:
    """Names from a file may hold anything."""
    ElementTree.fromstring(draw_svg(machine))


def test_each_cpu_and_each_device_is_in_the_picture_once() -> None:
    """A core is a cell with one number per CPU; a device is a chip with its label."""
    machine = machine_named("gpu8-128cpu")
    texts = [element.text for element in ElementTree.fromstring(draw_svg(machine)).iter(f"{SVG}text")]
    assert sorted(text for text in texts if text and text.isdigit()) == sorted(str(cpu.id) for cpu in machine.cpus)
    assert [text for text in texts if text and text.startswith("GPU") and ":" not in text] == [
        f"GPU{i}" for i in range(8)
    ]


def test_a_device_hangs_below_its_own_node() -> None:
    """A line leads from the foot of the NUMA node to it."""
    machine = machine_named("p100-28cpu")
    shapes = page_of(machine, Overlay()).shapes
    nodes = [shape for shape in shapes if isinstance(shape, Rect) and shape.role == "node"]
    chips = [shape for shape in shapes if isinstance(shape, Rect) and shape.role == "gpu"]
    at = [next(place for place, node in enumerate(nodes) if node.x <= chip.x < node.x + node.width) for chip in chips]
    assert at == [0, 1, 1]
    stems = [
        shape for shape in shapes if isinstance(shape, Wire) and shape.points[0][1] == nodes[0].y + nodes[0].height
    ]
    assert len(stems) == 2


def test_equal_nvlinks_become_one_bar() -> None:
    """Eight GPUs that all have NV18 to each other: eight stems, not 28 lines."""
    wires = [
        s for s in page_of(machine_named("dgx-h100"), Overlay()).shapes if isinstance(s, Wire) and s.role == "nvlink"
    ]
    stems = [wire for wire in wires if wire.points[0][0] == wire.points[1][0]]
    assert len(wires) <= 8 + 3
    assert len(stems) >= 8


def test_an_uneven_mesh_becomes_a_matrix() -> None:
    """NV1 beside NV2: a bar would hide the difference."""
    machine = linked([gpu(i, 0) for i in range(3)], {(0, 1): "NV2", (0, 2): "NV1", (1, 2): "NV1"})
    assert len(rects(machine, ("near", "middle", "far", "self"))) == 9


def test_the_theme_is_light_dark_or_the_readers() -> None:
    """`auto` carries both, the dark one under the reader's preference."""
    light, dark, auto = (draw_svg(pairs_box(), theme=theme) for theme in ("light", "dark", "auto"))
    assert LIGHT["core"][0] in light
    assert DARK["core"][0] not in light
    assert DARK["core"][0] in dark
    assert (
        auto.index(LIGHT["core"][0]) < auto.index("@media (prefers-color-scheme: dark)") < auto.index(DARK["core"][0])
    )
    assert LIGHT.keys() == DARK.keys()


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_texts_are_legible_on_every_fill() -> None:
    """Contrast of at least 4.5 to 1, the limit for small text (WCAG 2.1, 1.4.3)."""
    from numafit.show.draw.picture.palette import DARK_OWNERS, DARK_TEXT, LIGHT_OWNERS, LIGHT_TEXT

    themes = ((LIGHT, LIGHT_OWNERS, LIGHT_TEXT), (DARK, DARK_OWNERS, DARK_TEXT))
    for colours, owners, texts in themes:
        for fill in [*(fill for fill, _ in colours.values()), *owners]:
            lights = sorted((_luminance(fill), _luminance(texts[0])))
            assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 4.5, fill


def test_a_screen_reader_hears_the_machine() -> None:
    """Title and description stand first and are named by the picture."""
    root = ElementTree.fromstring(draw_svg(machine_named("p100-28cpu")))
    title, description = root[0], root[1]
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert title.text == "p100-28cpu"
    assert "Socket 1, NUMA node 1: 14 cores, 14 CPUs, 64Gi, GPU1, GPU2." in str(description.text)


def test_an_owner_colours_cores_and_devices() -> None:
    """A core that two owners share is cut in two; the key names them."""
    machine = machine_named("laptop")
    page = page_of(machine, Overlay({0: "a", 4: "b", 1: "a", 5: "a"}))
    owned = [s.role for s in page.shapes if isinstance(s, Rect) and s.role.startswith("owner")]
    assert owned == ["owner0", "owner1", "owner0", "owner0", "owner1"]


def test_a_machine_of_1024_cpus_is_drawn_in_under_a_second() -> None:
    """Measured in CPU time; some 150 ms on an ordinary machine."""
    machine = large()
    start = time.process_time()
    draw_svg(machine)
    assert time.process_time() - start < 1


def test_a_mig_slice_is_counted_at_its_gpu() -> None:
    """Slices are not chips of their own."""
    parent = gpu(0, 0)
    slices = tuple(Device("nvidia.com/mig-1g.5gb", f"MIG-{i}", (0,), kind="mig", parent=parent.id) for i in range(7))
    svg = draw_svg(Machine(devices=(parent, *slices)))
    assert "7 MIG" in svg
    assert not any(overlap(a, b) for a, b in combinations(rects(Machine(devices=(parent, *slices)), LEAVES), 2))
