"""The manual of lint: one page per code, with the rule behind it, a wrong and a right example.

The pages lie beside this module as Markdown, so that an installed numafit has them too. What a page shows is run by a
test: its text is what lint prints.
"""

from importlib.resources import files

from numafit.advice.lint.findings import CODES
from numafit.errors import InputError


def page_of(code: str) -> str:
    """Markdown. Case does not matter; InputError for what is no code."""
    name = code.strip().upper()
    if name not in CODES:
        first, last = min(CODES), max(CODES)
        raise InputError(
            f'"{code}" is no code of lint', cure=f"they go from {first} to {last}, and stand before each finding"
        )
    return files(__package__).joinpath("manual", f"{name}.md").read_text(encoding="utf-8")


def command_of(code: str) -> str:
    """What to type to read the page."""
    return f"numafit lint --explain {code}"
