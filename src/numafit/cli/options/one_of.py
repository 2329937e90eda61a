"""One word out of several, with the one that was probably meant."""

from typing import Any

import click

from numafit.cli.commands import did_you_mean


class OneOf(click.Choice[str]):
    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """`Any`: so click has it."""
        said = super().get_invalid_choice_message(value, ctx)
        return f"{said}{did_you_mean(str(value), self.choices)}"
