"""`numafit node switch`: another configuration for this node's kubelet, with a plan, a journal and a way back."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, NamedTuple

import click

from numafit.cli.files import drop_in_paths, read_text
from numafit.cli.node.over_agent import NAMESPACE, AskedSwitch, switch_over_agent
from numafit.cli.options.answer import ANSWERED, FAILED
from numafit.cli.options.facts import facts_told
from numafit.cli.options.live import ClusterOptions, cluster_options, new_access
from numafit.cli.options.machine import machine_option, resolve_machine
from numafit.cli.options.one_of import OneOf
from numafit.cli.options.state import state_of
from numafit.cli.terminal import answer, this_screen
from numafit.cli.warning import warn
from numafit.cluster.switch.drain import DrainChoice
from numafit.cluster.switch.edit import with_changes
from numafit.cluster.switch.journal import (
    FOLDER,
    Journal,
    JournalEntry,
    SwitchOrder,
    moment,
    new_journal,
    only_one,
    open_journal,
)
from numafit.cluster.switch.kubelet import KubeletProcess
from numafit.cluster.switch.plan import SwitchPlan, SwitchQuestion, plan_switch
from numafit.decision.start import Start
from numafit.errors import InputError
from numafit.machine.combine.unstated import with_memory
from numafit.machine.sketch.devices import with_devices
from numafit.settings.config import ROOT_DIR
from numafit.settings.node_object import read_node, with_total_memory
from numafit.settings.read.arguments import arguments_of_env
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.show.json import json_text
from numafit.show.text.notes import notes_text

if TYPE_CHECKING:
    from numafit.cluster.kube.access import Access
    from numafit.cluster.switch.conduct import NodeTold

CONFIG_FILE, FLAGS_FILE = "config.yaml", "kubeadm-flags.env"
"""Where kubeadm puts a kubelet's configuration and its flags."""
STOP, START = "systemctl stop kubelet", "systemctl start kubelet"


class SwitchOptions(NamedTuple):
    """What was typed."""

    new: Path | None
    changes: tuple[str, ...]
    config: Path
    kubelet_dir: Path
    kubelet_env: Path | None
    config_dir: Path | None
    node: str
    specs: tuple[str, ...]
    devices: tuple[str, ...]
    stop_command: str
    start_command: str
    keep_pods: bool
    choice: DrainChoice
    drain_timeout: float
    ready_timeout: float
    settle: float
    state: Path
    cluster: ClusterOptions


@click.command(
    epilog="""\b
Examples:
  numafit node switch new.yaml --dry-run
  numafit node switch new.yaml
  numafit node switch --set cpuManagerPolicy=static --set reservedSystemCPUs=0-3
  numafit node switch new.yaml --keep-pods --yes -o json
  numafit node switch --continue
  numafit node switch --undo
  numafit node switch new.yaml --node gpu-1 --over-agent"""
)
@click.argument("new", required=False, type=click.Path(path_type=Path))
@click.option(
    "--set", "changes", multiple=True, metavar="FIELD=VALUE", help="Instead of NEW: the present one with this changed."
)
@click.option(
    "--config", type=click.Path(path_type=Path), help=f"The kubelet's configuration file; default {CONFIG_FILE} there."
)
@click.option(
    "--kubelet-dir",
    type=click.Path(path_type=Path),
    default=ROOT_DIR,
    show_default=True,
    help="The kubelet's root, with its state files.",
)
@click.option(
    "--kubelet-env", type=click.Path(path_type=Path), help=f"File with its flags; default {FLAGS_FILE} there."
)
@click.option(
    "--config-dir",
    type=click.Path(path_type=Path),
    help="Its folder of drop-in files (*.conf); default that of the kubelet that runs.",
)
@click.option("--node", metavar="NAME", help="What the cluster calls this machine; default its host name.")
@click.option("--over-agent", is_flag=True, help="Let the agent of --node do it (node-agent --allow-switch).")
@click.option("--namespace", metavar="NAME", help=f"With --over-agent: that of the agent; default {NAMESPACE}.")
@cluster_options
@machine_option
@click.option("--device", "devices", multiple=True, metavar="RESOURCE=ID@NUMA,…", help="Devices of a plugin.")
@click.option("--stop-command", metavar="COMMAND", help=f"Stops the kubelet; default {STOP}.")
@click.option("--start-command", metavar="COMMAND", help=f"Starts it; default {START}.")
@click.option("--keep-pods", is_flag=True, help="No drain: the new kubelet admits the pods that run once more.")
@click.option("--force", is_flag=True, help="Pods without a controller are evicted, too; nobody makes them again.")
@click.option("--delete-emptydir-data", is_flag=True, help="Pods with data in an emptyDir are evicted, too.")
@click.option(
    "--drain-timeout", type=click.FloatRange(0), default=600, show_default=True, help="Seconds for the drain."
)
@click.option(
    "--ready-timeout", type=click.FloatRange(0), default=120, show_default=True, help="Seconds until it is ready."
)
@click.option(
    "--settle", type=click.FloatRange(0), default=10, show_default=True, help="Seconds that it must then stay ready."
)
@click.option("--state", type=click.Path(path_type=Path), help=f"Journal and kept files; default {FOLDER} there.")
@click.option("--dry-run", is_flag=True, help="Show the plan, and end.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--continue", "goes_on", is_flag=True, help="Go on with a switch that was interrupted.")
@click.option("--undo", is_flag=True, help="Bring a switch that was interrupted back to what ran before.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True)
def switch(
    new: Path | None,
    changes: Sequence[str],
    config: Path | None,
    kubelet_dir: Path,
    kubelet_env: Path | None,
    config_dir: Path | None,
    node: str | None,
    over_agent: bool,
    namespace: str | None,
    cluster: ClusterOptions,
    specs: Sequence[str],
    devices: Sequence[str],
    stop_command: str | None,
    start_command: str | None,
    keep_pods: bool,
    force: bool,
    delete_emptydir_data: bool,
    drain_timeout: float,
    ready_timeout: float,
    settle: float,
    state: Path | None,
    dry_run: bool,
    yes: bool,
    goes_on: bool,
    undo: bool,
    output: str,
) -> int:
    """Give the kubelet of this node the configuration NEW, or bring back what ran before.

    First a plan, from the engine and nothing touched: whether the kubelet would start with NEW on this machine, which
    state files it would refuse, which pods would be rejected or get another place. Then, if you agree: cordon, drain
    by the eviction API, stop, state files kept and moved away, NEW written, start, wait until the node is ready, check
    the new state files, uncordon. Where a step fails, everything is brought back. Killed in the middle, --continue
    goes on and --undo goes back. Exit status: 0 done, 1 the plan says no, or it failed and was undone, 2 bad input.
    """
    if over_agent:
        wanted = (keep_pods, force, delete_emptydir_data, drain_timeout, ready_timeout, settle)
        how = (cluster, dry_run, yes, goes_on, undo, output)
        return switch_over_agent(AskedSwitch(new, tuple(changes), node, namespace or NAMESPACE, *wanted, *how))
    if namespace is not None:
        raise InputError("goes with --over-agent only", source="--namespace")
    flags = kubelet_env or kubelet_dir / FLAGS_FILE
    options = SwitchOptions(
        new,
        tuple(changes),
        (config or kubelet_dir / CONFIG_FILE).absolute(),
        kubelet_dir.absolute(),
        flags if kubelet_env is not None or flags.is_file() else None,
        config_dir,
        node or gethostname().lower(),
        tuple(specs),
        tuple(devices),
        stop_command or STOP,
        start_command or START,
        keep_pods,
        DrainChoice(force, delete_emptydir_data),
        drain_timeout,
        ready_timeout,
        settle,
        (state or kubelet_dir / FOLDER).absolute(),
        cluster,
    )
    with only_one(options.kubelet_dir):
        journal = open_journal(options.state)
        if journal is not None:
            journal.use_commands(stop_command, start_command)
        if goes_on or undo:
            return _resume(journal, options, back=undo, both=goes_on and undo, output=output)
        if journal is not None and not dry_run:
            begun, step = journal.order.begun, journal.entries[-1].step if journal.entries else "its beginning"
            cure = "--continue goes on with it, --undo brings back what ran before"
            raise InputError(
                f"the switch of {begun} is not finished, it got to {step}", source=str(journal.path), cure=cure
            )
        return _begin(options, dry_run=dry_run, yes=yes, output=output)


def _begin(options: SwitchOptions, *, dry_run: bool, yes: bool, output: str) -> int:
    access = new_access(options.cluster)
    from numafit.cluster.switch.conduct import node_told
    from numafit.cluster.switch.server import refuse_another_machine
    from numafit.cluster.switch.words import DECLINED, PLANNED, REFUSED, SwitchAnswer, plan_text

    options = _as_it_runs(options)
    old = read_text(options.config)
    new = _new_config(options, old)
    told = asyncio.run(node_told(access, options.node))
    if not (dry_run and options.specs):
        refuse_another_machine(told.node, options.node)
    plan = plan_switch(_question(options, old, new, told))
    nothing = old == new.text
    if output == "text" and not nothing:
        screen = this_screen()
        below = notes_text(plan.notes)
        text = plan_text(plan, str(options.config), told.cordoned, screen)
        answer(f"{text}\n\n{below}" if below else text, screen)
    outcome = PLANNED if nothing else REFUSED if plan.refusals else PLANNED if dry_run else ""
    if not outcome and not _agreed(options, yes=yes):
        outcome = DECLINED
    if outcome:
        if output == "json":
            click.echo(json_text(SwitchAnswer(outcome, plan, plan.refusals)))
        elif nothing:
            click.echo("The kubelet has this configuration already: there is nothing to do.")
        return ANSWERED if outcome == PLANNED else FAILED
    journal = new_journal(options.state, _order(options, old, new.text, told, plan))
    return _run(access, journal, plan, back=False, output=output)


def _as_it_runs(options: SwitchOptions) -> SwitchOptions:
    """With what the command of the kubelet that runs says of its folders."""
    kubelet = KubeletProcess(options.config, options.stop_command, options.start_command)
    root, drop_ins = kubelet.option("--root-dir"), kubelet.option("--config-dir")
    if root and Path(root).resolve() != options.kubelet_dir.resolve():
        cure = f"name it by --kubelet-dir {root}"
        raise InputError(f"the kubelet that runs has its state in {root}", source=str(options.kubelet_dir), cure=cure)
    if drop_ins and options.config_dir is None:
        return options._replace(config_dir=Path(drop_ins))
    return options


def _resume(journal: Journal | None, options: SwitchOptions, *, back: bool, both: bool, output: str) -> int:
    if both:
        raise InputError("--continue and --undo do not go together")
    if options.new is not None or options.changes:
        raise InputError("no other configuration can be given", source="--undo" if back else "--continue")
    if journal is None:
        cure = "--kubelet-dir and --state name another place"
        raise InputError("there is no switch that is not finished", source=str(options.state), cure=cure)
    order = journal.order
    kubeconfig = options.cluster.kubeconfig or (Path(order.kubeconfig) if order.kubeconfig else None)
    access = new_access(ClusterOptions(options.cluster.context or order.context or None, kubeconfig))
    return _run(access, journal, None, back=back, output=output)


def _run(access: "Access", journal: Journal, plan: SwitchPlan | None, *, back: bool, output: str) -> int:
    from numafit.cluster.switch.conduct import switched
    from numafit.cluster.switch.steps import SWITCHED, UNDONE, UNFINISHED
    from numafit.cluster.switch.words import SwitchAnswer, entry_text

    def say(entry: JournalEntry) -> None:
        click.echo(entry_text(entry), err=True)

    def tell(text: str) -> None:
        click.echo(f"{moment().partition('T')[2].removesuffix('Z')}   {text}", err=True)

    try:
        outcome = asyncio.run(switched(access, journal, say, tell, back=back))
    except KeyboardInterrupt:
        warn("interrupted, and the switch is not finished (--continue goes on, --undo brings back what ran before)")
        raise
    kept = str(journal.kept)
    if output == "json":
        click.echo(json_text(SwitchAnswer(outcome, plan, (), tuple(journal.entries), kept)))
    elif outcome == SWITCHED:
        click.echo(f"Done. What there was before is in {kept}.")
    elif outcome == UNDONE:
        click.echo(f"All is as it was before. What happened stands in {kept}.")
    else:
        ways = "--undo tries again" if journal.goes_back else "--continue tries again, --undo goes back"
        click.echo(f"Not finished: {ways}.")
    if outcome == UNFINISHED:
        warn(f"{journal.path} tells how far it got")
    return ANSWERED if outcome == (UNDONE if back else SWITCHED) else FAILED


def _new_config(options: SwitchOptions, old: str) -> ConfigFile:
    if (options.new is None) == (not options.changes):
        cure = "name a file, or fields by --set"
        raise InputError(
            "it is not said which configuration" if options.new is None else "NEW and --set are two", cure=cure
        )
    if options.new is not None:
        return ConfigFile(str(options.new), read_text(options.new))
    return ConfigFile(str(options.config), with_changes(old, str(options.config), options.changes))


def _question(options: SwitchOptions, old: str, new: ConfigFile, told: "NodeTold") -> SwitchQuestion:
    node = read_node(told.node, f"node {options.node}")
    combined = resolve_machine(options.specs)
    machine = with_total_memory(with_devices(combined.machine, options.devices), node)
    facts = facts_told(node.facts(), (), machine)
    present = _sources(options, ConfigFile(str(options.config), old))
    return SwitchQuestion(
        Start(version=node.version(), machine=with_memory(machine), facts=facts),
        present,
        _sources(options, new),
        state_of(options.kubelet_dir),
        told.pods,
        options.node,
        options.keep_pods,
        options.choice,
        combined.notes,
    )


def _sources(options: SwitchOptions, file: ConfigFile) -> ConfigSources:
    drop_ins = None
    if options.config_dir is not None:
        drop_ins = tuple(ConfigFile(str(path), read_text(path)) for path in drop_in_paths(options.config_dir))
    env = options.kubelet_env
    if env is None:
        return ConfigSources(file, drop_ins)
    text = read_text(env)
    return ConfigSources(file, drop_ins, arguments_of_env(text, str(env)), str(env), text)


def _agreed(options: SwitchOptions, *, yes: bool) -> bool:
    if not os.access(options.config.resolve().parent, os.W_OK) or not os.access(options.kubelet_dir, os.W_OK):
        raise InputError("may not be written by you", source=str(options.config), cure="run it as root")
    if yes:
        return True
    if not sys.stdin.isatty():
        raise InputError("there is nobody to ask", cure="--yes does what the plan says, --dry-run only shows it")
    return click.confirm("\nDo this now?", default=False, err=True)


def _order(options: SwitchOptions, old: str, new: str, told: "NodeTold", plan: SwitchPlan) -> SwitchOrder:
    kubelet = KubeletProcess(options.config, options.stop_command, options.start_command)
    kubeconfig = options.cluster.kubeconfig or os.environ.get("KUBECONFIG", "")
    return SwitchOrder(
        begun=moment(),
        node=options.node,
        release=plan.release,
        config=str(options.config),
        kubelet_dir=str(options.kubelet_dir),
        new_config=new,
        old_config=old,
        stop_command=options.stop_command,
        start_command=options.start_command,
        keep_pods=options.keep_pods,
        moved=tuple(each.file for each in plan.moved),
        policies=plan.policies,
        was_cordoned=told.cordoned,
        process=kubelet.number(),
        pod_entries=plan.pod_entries,
        choice=options.choice,
        drain_seconds=options.drain_timeout,
        ready_seconds=options.ready_timeout,
        settle_seconds=options.settle,
        kubeconfig=str(Path(kubeconfig).absolute()) if kubeconfig and os.pathsep not in str(kubeconfig) else "",
        context=options.cluster.context or "",
    )
