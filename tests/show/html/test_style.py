"""Pages look like the agent's page."""

import re
from pathlib import Path

from numafit.show.html.style import DARK, FONT, LIGHT, style_text

TOKENS = (Path(__file__).parents[3] / "page/src/style/tokens.css").read_text()


def test_colours_and_type_are_those_of_the_agents_page() -> None:
    """Both themes; colours that are not used here may be missing."""
    blocks = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", own)) for own in TOKENS.split(":root")[1:]]
    assert LIGHT.items() <= blocks[0].items()
    assert DARK.items() <= blocks[1].items()
    assert f"font: {FONT};" in TOKENS


def test_every_colour_that_is_named_is_there() -> None:
    text = style_text()
    named = set(re.findall(r"var\(--([a-z-]+)\)", text))
    assert named <= set(re.findall(r"--([a-z-]+):", text))
