"""`numafit advise`: the smallest changes that put a rejected or badly placed pod in its place."""

import sys

import click
from msgspec.structs import replace

from numafit.advice.propose.advise import Advice, advices, proposal_notes
from numafit.cli.options.agent import agent_option
from numafit.cli.options.answer import check_option, status, strict_option, tell
from numafit.cli.options.live import live_option
from numafit.cli.options.node import NodeOptions, node_options
from numafit.cli.options.one_of import OneOf
from numafit.cli.options.stage import load_stage
from numafit.cli.terminal import answer, progress_bar, progress_over, this_screen
from numafit.decision.history.event import AddPods
from numafit.decision.simulation import play_events
from numafit.errors import InputError, meant_or_there
from numafit.show.json import json_text
from numafit.show.records.advice import advice_record
from numafit.show.text.advice import advice_patches, one_advice
from numafit.show.text.notes import notes_text


@click.command(
    epilog="""\b
Examples:
  numafit advise --machine dgx-h100 --kubelet kubelet.yaml train.yaml
  numafit advise --machine box.yaml --kubelet kubelet.yaml --pod default/train pods/
  numafit advise --patch --pod train pods/"""
)
@live_option
@agent_option
@node_options
@click.option("--pod", "pod_name", metavar="NAME", help="Only for this pod (name or namespace/name).")
@click.option("--most", type=click.IntRange(1), default=8, show_default=True, help="Proposals per pod.")
@click.option("--patch", is_flag=True, help="Print each pod's first proposal as a patch (YAML) instead.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True)
@check_option("there is something to change")
@strict_option
def advise(
    options: NodeOptions, pod_name: str | None, most: int, patch: bool, output: str, check: bool, strict: bool
) -> int:
    """Play PODS as `simulate` does; for each one that is rejected or lies badly, say what to change.

    Every proposal was decided by the engine before it is shown, and the least disturbing comes first: the pod's own
    numbers (to the last CPU and mebibyte), another pod that comes later or goes, a split, then the kubelet's scope,
    options, reservation and policy. Exit status: 0 answered; with --check 1 if there is something to change; 2
    bad input, and with --strict also an answer with notes.
    """
    stage = load_stage(replace(options, again=pod_name or ""))
    known = {name: pod.uid for pod in stage.pods for name in (pod.name, pod.full_name)}
    if pod_name is not None and pod_name not in known:
        there = meant_or_there(pod_name, [pod.full_name for pod in stage.pods])
        raise InputError(f"there is no pod {pod_name}", source="--pod", cure=there)
    chosen = None if pod_name is None else known[pod_name]
    with progress_over([AddPods((pod,)) for pod in stage.pods]) as watched:
        simulation = play_events(stage.situation, watched)
    notes = stage.notes_on(simulation)
    found: list[Advice] = []
    with progress_bar(len(simulation.steps)) as bar:
        for advice in advices(stage, stage.pods, stage.maker_names, only=chosen, simulation=simulation):
            if output == "text" and not patch:
                _show(advice, most, first=not found)
            found.append(advice)
            bar.update(1 + len(advice.same))
        bar.finish()
    notes += proposal_notes(stage, found)
    if output == "json":
        click.echo(json_text(advice_record(found, stage.config, stage.makers, most, notes, simulation.undecided)))
    elif patch:
        click.echo(advice_patches(found, stage.config, stage.makers), nl=False)
        tell(notes)
    elif notes:
        answer(f"\n{notes_text(notes)}" if found else notes_text(notes), this_screen())
    return status(notes, strict=strict, failed=check and any(advice.fault for advice in found))


def _show(advice: Advice, most: int, *, first: bool) -> None:
    """At once, and not on the line on which the bar stands."""
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    screen = this_screen()
    text = one_advice(advice, most, screen)
    answer(text if first else f"\n{text}", screen)
