"""Typing it: the `numafit` command and its table of subcommands, each loaded only when it is called."""

from importlib import import_module
from typing import NamedTuple

import click

from numafit import __version__


class Entry(NamedTuple):
    target: str
    """`module:attribute` of the click command."""
    help: str


COMMANDS: dict[str, Entry] = {
    "advise": Entry("numafit.cli.advise:advise", "Say what to change so that a pod fits."),
    "audit": Entry("numafit.cli.audit:audit", "Compare where processes run with what they were promised."),
    "compare": Entry("numafit.cli.compare:compare", "Play the same pods under two kubelets and say what changes."),
    "completion": Entry("numafit.cli.completion:completion", "Print a completion script for bash, zsh or fish."),
    "docker": Entry("numafit.cli.docker:docker", "Run containers under a lease, plan them, or adopt running ones."),
    "doctor": Entry("numafit.cli.doctor:doctor", "Say whether the kubelet would start, and check its state."),
    "explain": Entry("numafit.cli.explain:explain", "Tell why pods are admitted or rejected."),
    "fit": Entry("numafit.cli.fit:fit", "Count how many more pods fit, and say what runs out."),
    "free": Entry("numafit.cli.free:free", "Show what is left of this host, per NUMA node."),
    "history": Entry("numafit.cli.history:history", "Show what happened to the leases of this host."),
    "lint": Entry("numafit.cli.lint:lint", "Find mistakes in kubelet configurations, flags and pods."),
    "machine": Entry("numafit.cli.machine:machine", "Show a machine, its links, or turn it into another format."),
    "metrics": Entry("numafit.cli.metrics:metrics", "List the metrics that `numafit serve` offers."),
    "ps": Entry("numafit.cli.ps:ps", "Show who holds what of this host."),
    "release": Entry("numafit.cli.release:release", "Give a lease back."),
    "rank": Entry("numafit.cli.rank:rank", "Run one process of a torchrun, mpirun or srun job on its share."),
    "replay": Entry("numafit.cli.replay:replay", "Decide recorded cases again and compare with what the kubelet did."),
    "run": Entry("numafit.cli.run:run", "Run a command on free and aligned CPUs, memory and devices."),
    "serve": Entry("numafit.cli.serve:serve", "Show a machine and who sits where: page, HTTP API and metrics."),
    "simulate": Entry("numafit.cli.simulate:simulate", "Say what a kubelet would do with pods."),
}


class LazyGroup(click.Group):
    """The list of commands comes from a table, so that `--help` imports none of them."""

    table: dict[str, Entry] = COMMANDS

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.table[name].help) for name in self.list_commands(ctx)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="numafit")
def numafit() -> None:
    """Decide what the kubelet would decide about CPUs, memory and devices, and say why."""
