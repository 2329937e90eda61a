"""The picture of a machine as SVG text: for documents and pages, light and dark, readable by a screen reader."""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from numafit.amounts import count_text, size_text
from numafit.machine.model import Machine
from numafit.show.draw.overlay import Overlay
from numafit.show.draw.picture.page import page_of
from numafit.show.draw.picture.palette import Theme, style_sheet
from numafit.show.draw.picture.shapes import FONT_SIZES, DrawnShape, Label, Piece, Rect
from numafit.show.draw.plan import Package, plan_of
from numafit.show.words import device_label, machine_title, printable, summary_text

FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',Arial,'DejaVu Sans',sans-serif"
BOLD = ("title", "head", "name")
MUTED = ("subtitle", "fact", "band", "note")
ROUNDED = {"package": 10, "node": 8, "band": 5, "switch": 6, "memory": 6, "pill": 7}


def draw_svg(machine: Machine, *, theme: Theme = "auto", overlay: Overlay | None = None) -> str:
    page = page_of(machine, overlay or Overlay())
    return svg_text(page, machine_title(machine), description(machine), theme)


def svg_text(page: Piece, title: str, told: str, theme: Theme) -> str:
    """`told` is the picture in words."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="numafit" role="img" '
        f'aria-labelledby="numafit-title numafit-desc" width="{_n(page.width)}" height="{_n(page.height)}" '
        f'viewBox="0 0 {_n(page.width)} {_n(page.height)}" font-family={quoteattr(FONTS)}>',
        f'<title id="numafit-title">{_text(title)}</title>',
        f'<desc id="numafit-desc">{_text(told)}</desc>',
        f"<style>\n{_sheet(theme)}\n</style>",
    ]
    lines += map(_element, page.shapes)
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def description(machine: Machine) -> str:
    """The whole picture in sentences, for those who cannot see it."""
    plan = plan_of(machine)
    sentences = [f"{summary_text(machine)}."]
    for package in plan.packages:
        sentences += _package_sentences(package)
    for node in plan.memory_nodes:
        memory = size_text(node.numa.memory) if node.numa.memory else "no memory"
        sentences.append(f"NUMA node {node.numa.id} has no CPUs, {memory}.")
    if plan.unplaced:
        names = [device_label(device) for bundle in plan.unplaced for device in bundle.devices]
        sentences.append(f"Without a NUMA node: {', '.join(names)}.")
    return " ".join(sentences)


def _package_sentences(package: Package) -> Iterator[str]:
    for node in package.nodes:
        parts = [count_text(len(node.cores), "core"), count_text(len(node.cpus), "CPU")]
        if node.numa.memory:
            parts.append(size_text(node.numa.memory))
        parts += [device_label(device) for bundle in node.bundles for device in bundle.devices]
        yield f"{package.title}, NUMA node {node.numa.id}: {', '.join(parts)}."


def _sheet(theme: Theme) -> str:
    return (
        "svg.numafit text{stroke:none}svg.numafit rect{stroke-width:1}"
        ".nf-wire{stroke-width:1.5}.nf-nvlink{stroke-width:3;stroke-linejoin:round;stroke-linecap:round}"
        ".nf-switch{stroke-dasharray:4 3}.nf-bold{font-weight:600}.nf-cpu{font-variant-numeric:tabular-nums}\n"
        + style_sheet(theme)
    )


def _element(shape: DrawnShape) -> str:
    if isinstance(shape, Rect):
        rounded = ROUNDED.get(shape.role, 3 if shape.role != "page" else 0)
        body = (
            f'<rect class="nf-{shape.role}" x="{_n(shape.x)}" y="{_n(shape.y)}" width="{_n(shape.width)}" '
            f'height="{_n(shape.height)}" rx="{rounded}"'
        )
        return f"{body}><title>{_text(shape.tip)}</title></rect>" if shape.tip else f"{body}/>"
    if isinstance(shape, Label):
        classes = "nf-muted" if shape.role in MUTED else "nf-text"
        if shape.role in BOLD:
            classes += " nf-bold"
        elif shape.role == "cpu":
            classes += " nf-cpu"
        anchor = f' text-anchor="{shape.anchor}"' if shape.anchor != "start" else ""
        size = FONT_SIZES.get(shape.role, 10.0)
        return (
            f'<text class="{classes}" x="{_n(shape.x)}" y="{_n(shape.y)}" font-size="{_n(size)}"{anchor}>'
            f"{_text(shape.text)}</text>"
        )
    points = " ".join(f"{_n(x)},{_n(y)}" for x, y in shape.points)
    return f'<polyline class="nf-{shape.role}" points="{points}"/>'


def _text(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return escape(printable(text))


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
