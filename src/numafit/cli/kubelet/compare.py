"""`numafit compare`: the same pods under two kubelets, and what changes between them."""

from pathlib import Path

import click
from msgspec.structs import replace

from numafit.advice.compare import compare as compare_stages
from numafit.cli.held import HeldPath
from numafit.cli.options.agent import agent_option
from numafit.cli.options.answer import check_option, say, status, strict_option
from numafit.cli.options.live import ClusterOptions, fetched_case, held, live_option
from numafit.cli.options.node import NodeOptions, node_options
from numafit.cli.options.one_of import OneOf
from numafit.cli.options.stage import load_stage
from numafit.decision.stage import after_running
from numafit.errors import InputError, StartRefusedError
from numafit.show.json import json_text
from numafit.show.records.comparison import comparison_record, no_start_record
from numafit.show.text.comparison import comparison_text, refusal_text


@click.command(
    epilog="""\b
Examples:
  numafit compare --kube-version 1.27 --with-kube-version 1.36 examples/small-node
  numafit compare --with-kubelet other.yaml examples/small-node
  numafit compare --machine dgx-h100 --with-machine dgx-a100 pod.yaml
  numafit compare --node gpu-1 --with-node gpu-2 pod.yaml"""
)
@live_option
@agent_option
@node_options
@click.option("--with-kube-version", metavar="V", help="The other release.")
@click.option("--with-kubelet", type=click.Path(path_type=Path), help="The other KubeletConfiguration.")
@click.option("--with-kubelet-env", type=click.Path(path_type=Path), help="The other file with flags.")
@click.option("--with-machine", "with_machines", multiple=True, metavar="SPEC", help="The other machine.")
@click.option("--with-node", metavar="NAME", help="With --node: another node of that cluster, for PODS.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True)
@check_option("a decision changes, or the other kubelet would not start")
@strict_option
def compare(
    options: NodeOptions,
    with_kube_version: str | None,
    with_kubelet: Path | None,
    with_kubelet_env: Path | None,
    with_machines: tuple[str, ...],
    with_node: str | None,
    output: str,
    check: bool,
    strict: bool,
) -> int:
    """Play PODS twice: as described, and with another release, configuration, machine or node.

    Shows the pods whose verdict, CPUs, memory or devices change, the settings that differ, and for two releases the
    rules that differ; a rule is named as the reason where turning back this one alone gives the old decision. Exit
    status: 0 answered; with --check 1 if a decision changes or the other kubelet would not start; 2 bad input, and with
    --strict also an answer with notes.
    """
    if not (with_kube_version or with_kubelet or with_kubelet_env or with_machines or with_node):
        raise InputError(
            "there is nothing to compare with",
            cure="give --with-kube-version, --with-kubelet, --with-kubelet-env, --with-machine or --with-node",
        )
    if Path("-") in options.pods:
        raise InputError("can be read only once", source="standard input", cure="put the pods into a file")
    changes = {
        "--with-kube-version": with_kube_version,
        "--with-kubelet": with_kubelet or with_kubelet_env,
        "--with-machine": with_machines,
    }
    options = replace(options, compared=next((name for name, value in changes.items() if value), ""))
    other = options if with_node is None else _on_node(options, with_node)
    if with_kube_version:
        other = replace(other, kube_version=with_kube_version)
    if with_kubelet or with_kubelet_env:
        agent = other.agent and replace(other.agent, kubelet=None)
        other = replace(other, kubelet=with_kubelet, kubelet_env=with_kubelet_env, agent=agent)
    if with_machines:
        other = replace(other, machines=with_machines)
    first = load_stage(options)
    try:
        second = load_stage(other)
    except StartRefusedError as error:
        if output == "json":
            click.echo(json_text(no_start_record(error, first.notes)))
        else:
            say(refusal_text(error), first.notes)
        return status(first.notes, strict=strict, failed=check)
    if with_node is None:
        result = compare_stages(first, second, first.pods, second.pods)
    else:
        (first, pods), (second, _) = after_running(first), after_running(second)
        result = compare_stages(first, second, pods, pods)
    if output == "json":
        click.echo(json_text(comparison_record(result, result.notes)))
    else:
        say(comparison_text(result), result.notes)
    return status(result.notes, strict=strict, failed=check and bool(result.changed))


def _on_node(options: NodeOptions, name: str) -> NodeOptions:
    """The same PODS on another node of the cluster. Those that run there already are its own."""
    live, *pods = options.pods or (None,)
    if not isinstance(live, HeldPath):
        raise InputError("goes with --node only", source="--with-node")
    if not pods:
        raise InputError("no pods to compare two nodes by", source="--with-node", cure="name pods to come")
    asked = click.get_current_context().params
    other = held(fetched_case(name, ClusterOptions(asked["context"], asked["kubeconfig"])))
    return replace(options, pods=(other, *pods))
