"""`numafit simulate`: what a kubelet would do with pods, one after the other, on one node.

`--events` names a small file, one line for each thing that happens:

    add default/web-0
    restart plugins=late reboot

The words are in `decision/history/lines.py`.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from numafit.cli.files import check_picture, write_whole
from numafit.cli.options.agent import agent_option
from numafit.cli.options.answer import check_option, notes_on_run, say, status, strict_option
from numafit.cli.options.live import live_option
from numafit.cli.options.node import NodeOptions, node_options
from numafit.cli.options.one_of import OneOf
from numafit.cli.options.stage import load_stage
from numafit.cli.terminal import progress_over
from numafit.decision.history.coming import ChoicesMaker
from numafit.decision.history.event import AddPods, Event
from numafit.decision.history.situation import Situation
from numafit.decision.simulation import Simulation, play_events
from numafit.decision.stage import Stage
from numafit.errors import InputError
from numafit.ledger.state_files import state_path
from numafit.managers.protocol import WatchedChoices
from numafit.notes import Note
from numafit.show.table import Screen

if TYPE_CHECKING:
    from numafit.advice.past.agreement import PastAgreement
    from numafit.advice.past.past import Past
    from numafit.decision.doubt.other import Others

EACH = "{n}"
"""Stands for the number of an event in the name of a picture."""
_IN_BRACES = re.compile(r"\{[^{}]*\}")


@click.command(
    epilog="""\b
Examples:
  numafit simulate examples/small-node
  numafit simulate --machine box.yaml --kubelet kubelet.yaml pod.yaml
  numafit simulate --kubelet-env kubelet.env --kube-version 1.27 pods/
  numafit simulate examples/reboot --events examples/reboot/events.txt --picture 'after-{n}.svg'
  numafit simulate --machine dgx-h100 --state /var/lib/kubelet -o json - < pod.yaml
  numafit simulate --machine box.yaml --kubelet kubelet.yaml --past kubelet.log.gz pods/
  numafit simulate --record case.jsonl examples/small-node && numafit replay case.jsonl"""
)
@live_option
@agent_option
@node_options
@click.option(
    "-o",
    "output",
    type=OneOf(["table", "wide", "json", "yaml"]),
    default="table",
    show_default=True,
    help="wide adds what was asked for and the merged hint.",
)
@click.option("--save-kubelet", type=click.Path(path_type=Path), help="Write the example kubelet that was used.")
@click.option("--write-state", type=click.Path(path_type=Path), help="Write the state files the kubelet would have.")
@click.option(
    "--events", type=click.Path(path_type=Path), help="File of events (- is standard input): add POD, restart, …"
)
@click.option(
    "--past",
    type=click.Path(path_type=Path),
    help="Play a node's past: a kubelet's log (gzip too), or a folder of API objects with times.",
)
@click.option("--write-events", type=click.Path(path_type=Path), help="With --past: write it as a file for --events.")
@click.option(
    "--outcomes",
    type=click.IntRange(1, 100),
    metavar="N",
    help="List up to N other outcomes of each decision that the kubelet leaves to chance.",
)
@click.option("--files", is_flag=True, help="With --events and -o json: the state files after each event.")
@click.option(
    "--picture",
    type=click.Path(path_type=Path),
    help="Draw the machine with who sits where (SVG); with --events at their end, or after each event {n} in the name.",
)
@click.option("--record", type=click.Path(path_type=Path), help="Write a recording (JSON lines) for `numafit replay`.")
@check_option("a pod is rejected, evicted, not decided or not started, or the kubelet ends or is down at the end")
@strict_option
def simulate(
    options: NodeOptions,
    output: str,
    save_kubelet: Path | None,
    write_state: Path | None,
    events: Path | None,
    past: Path | None,
    write_events: Path | None,
    outcomes: int | None,
    files: bool,
    picture: Path | None,
    record: Path | None,
    check: bool,
    strict: bool,
) -> int:
    """Say what the kubelet would do with PODS, in this order.

    PODS are manifests, folders of them, or - for standard input. A folder may also hold machine.* and kubelet.*.
    Without --kubelet an example with all managers on is used, and printed. Below the answer stands what was assumed,
    left out or not known. Exit status: 0 answered; with --check 1 if not all are admitted, and with events also
    if a resize is not allocated, somebody is evicted, a container cannot be started at the end, or the kubelet ends,
    does not start again or is down at the end; 2 bad input or a kubelet that would not start, and with --strict also
    an answer with notes.
    """
    if files and ((events is None and past is None) or output not in ("json", "yaml")):
        raise InputError("goes with --events or --past, and -o json or yaml only", source="--files")
    told, text = None, ""
    if events is not None and past is None:
        from numafit.cli.options.events import with_event_file

        options, text = with_event_file(options, events)
    if past is not None:
        stage, told = _past(options, past, events, write_events)
    elif write_events is not None:
        raise InputError("goes with --past only", source="--write-events")
    else:
        stage = load_stage(options, idle=True)
    if stage.example:
        click.echo(f"No kubelet configuration given; using this one:\n\n{stage.example}", err=True)
        if save_kubelet is not None:
            write_whole(save_kubelet, stage.example.encode())
    happens: list[Event] = [AddPods((pod,)) for pod in stage.pods]
    if events is not None:
        from numafit.cli.options.events import read_event_file

        happens = read_event_file(options, stage, events, text)
    situation = stage.situation
    choices: ChoicesMaker = WatchedChoices
    if told is not None:
        from numafit.advice.past.past import choices_of
        from numafit.cli.options.past import beginning

        happens, situation, choices = list(told.events), beginning(stage, told), choices_of(told)
    with progress_over(happens) as watched:
        simulation = play_events(situation, watched, choices)
    if picture is not None:
        _draw(simulation, picture)
    if write_state is not None:
        _write_state(simulation, write_state)
    if record is not None:
        _write_record(stage, simulation, record, events=events is not None or told is not None)
    notes = notes_on_run(stage, simulation)
    others = None
    if outcomes is not None:
        others, notes = _others(simulation, outcomes), _without_hint(notes)
    agreement = None
    if told is not None:
        from numafit.advice.past.agreement import agreement_with

        agreement, differences = agreement_with(told, simulation)
        notes = (*notes, *told.notes, *differences)
    whole = events is not None or told is not None
    _say(simulation, notes, output, others, events=whole, files=files, agreement=agreement)
    return status(notes, strict=strict, failed=check and simulation.failed)


def _past(options: NodeOptions, path: Path, events: Path | None, write_events: Path | None) -> "tuple[Stage, Past]":
    from numafit.advice.past.past import past_text
    from numafit.cli.options.past import load_past

    if events is not None:
        raise InputError("--events and --past both say what happens", source="--past", cure="give one of them")
    stage, told = load_past(options, path)
    if write_events is not None:
        write_whole(write_events, past_text(told).encode())
    return stage, told


def _write_state(simulation: Simulation, folder: Path) -> None:
    """As the kubelet lays them: the device manager's file in a folder of its own."""
    from numafit.decision.files import state_files

    for name, text in state_files(simulation.end.node, simulation.after).items():
        write_whole(state_path(folder, name), text.encode("utf-8", "surrogateescape"))


# What only one option needs is loaded with it: the plain command starts quicker.


def _others(simulation: Simulation, most: int) -> "Mapping[int, Others]":
    from numafit.decision.doubt.chance import others_of_run

    return others_of_run(simulation, most)


def _without_hint(notes: Sequence[Note]) -> tuple[Note, ...]:
    """Nobody is told to give the option that he has given."""
    from numafit.decision.doubt.chance import OUTCOMES_HINT

    return tuple([Note(note.code, note.about, note.text.removesuffix(OUTCOMES_HINT)) for note in notes])


def _say(
    simulation: Simulation,
    notes: Sequence[Note],
    output: str,
    others: "Mapping[int, Others] | None",
    *,
    events: bool,
    files: bool,
    agreement: "PastAgreement | None" = None,
) -> None:
    if output in ("json", "yaml"):
        from numafit.show.json import json_text, yaml_text
        from numafit.show.records.simulation import simulation_record

        record = simulation_record(
            simulation, notes, outcomes=others, events=events, event_files=files, agreement=agreement
        )
        click.echo(json_text(record) if output == "json" else yaml_text(record))
        return

    def table(screen: Screen) -> str:
        if events:
            from numafit.show.text.events import events_table as shown
        else:
            from numafit.show.text.simulation import simulation_table as shown
        text = shown(simulation, notes, wide=output == "wide", screen=screen)
        text += f"\n\n{agreement.sentence}" if agreement is not None else ""
        if others is None:
            return text
        from numafit.show.text.outcomes import outcomes_table

        return f"{text}\n\n{outcomes_table(simulation, others, screen)}"

    say(table, notes)


def _draw(simulation: Simulation, path: Path) -> None:
    """With `{n}` in its name one picture for each event, numbered as in the table."""
    check_picture(path)
    other = next((word for word in _IN_BRACES.findall(path.name) if word != EACH), "")
    if other:
        cure = f"write {EACH} for the number of the event"
        raise InputError(f"{other} stands for nothing", source=str(path), cure=cure)
    if EACH not in path.name:
        _draw_one(simulation.end, path)
        return
    for number, happened in enumerate(simulation.happened, 1):
        _draw_one(happened.after, path.with_name(path.name.replace(EACH, str(number))))


def _draw_one(situation: Situation, path: Path) -> None:
    from numafit.show.draw.overlay import overlay_of
    from numafit.show.draw.picture.svg import draw_svg

    write_whole(path, draw_svg(situation.machine, overlay=overlay_of(situation.ledger)).encode())


def _write_record(stage: Stage, simulation: Simulation, path: Path, *, events: bool) -> None:
    """Pods that come are a recording of the managers. With other events, or pods already there, it is one of a run."""
    name = path.name.removesuffix(".jsonl")
    if events or simulation.before.active:
        from numafit.replay.simulated_run import run_case

        case, otherwise = run_case(simulation, stage.config, name)
    else:
        from numafit.replay.simulated import case_of, unlike

        case = case_of(simulation, name)
        otherwise = unlike(case, simulation)
    write_whole(path, msgspec.json.encode(case) + b"\n")
    for what in otherwise:
        # a plugin that prefers near GPUs, or a status that a manifest carries along
        click.echo(f"{path}: {what} is decided otherwise there: a recording cannot say all of this node", err=True)
