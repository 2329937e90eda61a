"""`numafit completion`: the script that lets a shell complete numafit's commands and options."""

import click
from click.shell_completion import get_completion_class

from numafit.cli.commands import numafit
from numafit.cli.options.one_of import OneOf


@click.command(
    epilog="""\b
Examples:
  eval "$(numafit completion bash)"
  numafit completion fish > ~/.config/fish/completions/numafit.fish"""
)
@click.argument("shell", type=OneOf(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for SHELL."""
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell}")
    click.echo(kind(numafit, {}, "numafit", "_NUMAFIT_COMPLETE").source())
