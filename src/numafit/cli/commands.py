"""The `numafit` command and its table of subcommands, each loaded only when it is called: the table names modules as
text, so that `--help` imports none of them."""

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import NamedTuple

import click

from numafit import __version__
from numafit.cli.start import load_base, quickly
from numafit.errors import NeedsLinuxError, near_words

INTERRUPTED = 130


class LazyCommand(NamedTuple):
    target: str
    """`module:attribute` of the click command."""
    help: str
    linux: bool = False
    """It is about processes or files that only Linux has."""
    group: bool = False
    """It has commands of its own."""


COMMANDS: dict[str, LazyCommand] = {
    "advise": LazyCommand("numafit.cli.kubelet.advise:advise", "Say what to change so that a pod fits."),
    "audit": LazyCommand(
        "numafit.cli.host.audit:audit", "Compare where processes run with what they were promised.", linux=True
    ),
    "cancel": LazyCommand("numafit.cli.host.cancel:cancel", "End the job of a lease, gently first.", linux=True),
    "cluster": LazyCommand("numafit.cli.cluster.group:cluster", "Start a cluster of one's own, for tests.", group=True),
    "compare": LazyCommand(
        "numafit.cli.kubelet.compare:compare", "Play the same pods under two kubelets and say what changes."
    ),
    "completion": LazyCommand("numafit.cli.completion:completion", "Print a completion script for bash, zsh or fish."),
    "device-plugin": LazyCommand(
        "numafit.cli.node.device_plugin:device_plugin", "Offer devices of this node to its kubelet.", linux=True
    ),
    "docker": LazyCommand(
        "numafit.cli.host.docker.group:docker",
        "Run containers under a lease, plan them, or adopt running ones.",
        group=True,
        linux=True,
    ),
    "doctor": LazyCommand(
        "numafit.cli.kubelet.doctor:doctor", "Say whether the kubelet would start, and check its state."
    ),
    "explain": LazyCommand("numafit.cli.kubelet.explain:explain", "Tell why pods are admitted or rejected."),
    "extender": LazyCommand(
        "numafit.cli.cluster.extender:extender", "Answer a kube-scheduler that asks which nodes would admit a pod."
    ),
    "fleet": LazyCommand(
        "numafit.cli.fleet.group:fleet", "Ask a cluster what fits where, who is split and why pods wait.", group=True
    ),
    "fit": LazyCommand("numafit.cli.kubelet.fit:fit", "Count how many more pods fit, and say what runs out."),
    "free": LazyCommand("numafit.cli.host.leases:free", "Show what is left of this host, per NUMA node.", linux=True),
    "guard": LazyCommand(
        "numafit.cli.cluster.guard:guard", "Let owners wait whose pods kubelets reject again and again."
    ),
    "history": LazyCommand(
        "numafit.cli.host.leases:history", "Show what happened to the leases of this host.", linux=True
    ),
    "host": LazyCommand("numafit.cli.host.group:host", "Make this host ready for many users.", group=True, linux=True),
    "kubelet-sim": LazyCommand("numafit.cli.node.kubelet_sim:kubelet_sim", "Play nodes of a cluster without hardware."),
    "lint": LazyCommand("numafit.cli.kubelet.lint:lint", "Find mistakes in kubelet configurations, flags and pods."),
    "machine": LazyCommand(
        "numafit.cli.machine.group:machine", "Show a machine, its links, or turn it into another format.", group=True
    ),
    "measure": LazyCommand(
        "numafit.cli.host.measure:measure", "Measure memory between NUMA nodes, or what binding brings.", linux=True
    ),
    "metrics": LazyCommand(
        "numafit.cli.agent.metrics:metrics", "List the metrics that `numafit serve` offers.", group=True
    ),
    "node": LazyCommand(
        "numafit.cli.node.group:node", "Keep a node as a folder, or change its kubelet's configuration.", group=True
    ),
    "node-agent": LazyCommand(
        "numafit.cli.node.node_agent:node_agent", "Publish how this node stands, and compare its decisions.", linux=True
    ),
    "place": LazyCommand(
        "numafit.cli.cluster.place:place", "Let pods of a cluster wait until a node has room, and send them there."
    ),
    "podman": LazyCommand(
        "numafit.cli.host.docker.podman:podman",
        "Run Podman's containers under a lease, or adopt running ones.",
        group=True,
        linux=True,
    ),
    "ps": LazyCommand("numafit.cli.host.leases:ps", "Show who holds what of this host.", linux=True),
    "release": LazyCommand("numafit.cli.host.release:release", "Give a lease back.", linux=True),
    "rank": LazyCommand(
        "numafit.cli.host.rank:rank", "Run one process of a torchrun, mpirun or srun job on its share.", linux=True
    ),
    "replay": LazyCommand(
        "numafit.cli.kubelet.replay:replay", "Decide recorded cases again and compare with what the kubelet did."
    ),
    "run": LazyCommand(
        "numafit.cli.host.run:run", "Run a command on free and aligned CPUs, memory and devices.", linux=True
    ),
    "scheduler-config": LazyCommand(
        "numafit.cli.cluster.scheduler_config:scheduler_config",
        "Print what a kube-scheduler needs to ask the extender.",
    ),
    "serve": LazyCommand(
        "numafit.cli.agent.serve:serve", "Show a machine and who sits where: page, HTTP API and metrics."
    ),
    "simulate": LazyCommand("numafit.cli.kubelet.simulate:simulate", "Say what a kubelet would do with pods."),
}


class LazyGroup(click.Group):
    """The list of commands comes from a table, so that `--help` imports none of them."""

    table: dict[str, LazyCommand] = COMMANDS

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        if entry.linux and sys.platform != "linux":
            return _needs_linux(ctx, cmd_name)
        module, _, attribute = entry.target.partition(":")
        with quickly():
            load_base()
            command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.table and not ctx.resilient_parsing and name[:1].isalnum():
            ctx.fail(f"No such command {name!r}.{self._inside(ctx, name) or did_you_mean(name, self.table)}")
        return super().resolve_command(ctx, args)

    def _inside(self, ctx: click.Context, name: str) -> str:
        """The groups that have a command of this name."""
        groups = {own: self.get_command(ctx, own) for own, entry in self.table.items() if entry.group}
        found = [own for own, group in groups.items() if isinstance(group, LazyGroup) and name in group.table]
        return f" Did you mean {' or '.join(repr(f'{own} {name}') for own in found)}?" if found else ""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.table[name].help) for name in self.list_commands(ctx)])


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """To be put behind a sentence: empty, or with a blank in front."""
    found = near_words(word, known)
    return f" Did you mean {' or '.join(map(repr, found))}?" if found else ""


def _needs_linux(context: click.Context, name: str) -> click.Command:
    """Stands in for a command that could not be imported, or would find nothing, on another system."""

    def refuse(words: Sequence[str]) -> None:
        raise NeedsLinuxError(f"`{context.command_path} {name}`")

    words = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True}
    return click.Command(name, settings, refuse, [words], add_help_option=False)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="numafit")
def numafit() -> None:
    """Decide what the kubelet would decide about CPUs, memory and devices, and say why."""


def run_group(group: click.Group, name: str, words: list[str] | None) -> int:
    """The exit status; what is wrong with the words is told."""
    try:
        status = group.main(args=words, prog_name=name, standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return status if isinstance(status, int) else 0
