"""`numafit explain`: why a pod is admitted or rejected, container by container and NUMA node by NUMA node."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from numafit.bits import cpuset_text, mask_of
from numafit.cli.options.agent import agent_option
from numafit.cli.options.answer import check_option, notes_on_run, say, status, strict_option
from numafit.cli.options.live import live_option
from numafit.cli.options.machine import resolve_machine
from numafit.cli.options.node import NodeOptions, node_options
from numafit.cli.options.one_of import OneOf
from numafit.cli.options.stage import load_stage
from numafit.decision.decision import Decision
from numafit.decision.history.step import with_evictions
from numafit.decision.simulation import Simulation, play_events
from numafit.decision.stage import Stage
from numafit.decision.story.story import story_of
from numafit.errors import InputError, meant_or_there
from numafit.notes import Note
from numafit.show.text.story import story_text

if TYPE_CHECKING:
    from numafit.advice.logs.admission import Admission
    from numafit.machine.model import Machine

Told = tuple[Sequence[Note], bool]
"""The notes of what was printed, and whether a pod in it was rejected or not decided."""


@click.command(
    epilog="""\b
Examples:
  numafit explain examples/small-node
  numafit explain --machine box.yaml --kubelet kubelet.yaml --pod default/train pods/
  numafit explain examples/reboot --events examples/reboot/events.txt --pod train
  numafit explain examples/gpu-box --pod five-gpus --why-not 1
  numafit explain --log kubelet.log.gz
  numafit explain --log kubelet.log --machine box.yaml --kubelet kubelet.yaml pods/
  journalctl -u kubelet | numafit explain --log - --pod default/train --all"""
)
@live_option
@agent_option
@node_options
@click.option(
    "--log",
    "log",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Tell a kubelet's log (gzip too, - for standard input); --machine names its machine.",
)
@click.option("--all", "everything", is_flag=True, help="With --log: tell admitted pods too, as JSON always does.")
@click.option(
    "--pod", "pod_name", metavar="NAME", help="Only this pod (name or namespace/name); the others are played."
)
@click.option(
    "--why-not", type=click.IntRange(0), metavar="NUMA", help="Tell instead why each pod does not go to this NUMA node."
)
@click.option("--events", type=click.Path(path_type=Path), help="Play a file of events, and tell each.")
@click.option(
    "--past",
    type=click.Path(path_type=Path),
    help="The same with a node's past: a kubelet's log, or a folder of API objects with times.",
)
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True)
@check_option("a pod that is told is rejected, evicted, not decided or not started, or a kubelet ends or is down")
@strict_option
def explain(
    options: NodeOptions,
    log: Path | None,
    everything: bool,
    pod_name: str | None,
    why_not: int | None,
    events: Path | None,
    past: Path | None,
    output: str,
    check: bool,
    strict: bool,
) -> int:
    """Play PODS as `simulate` does, and tell the story of each decision.

    Per container: what is needed, free and held on every NUMA node, what each manager offers, what the merge makes of
    it, and the one sentence that matters. With --why-not: what each merge says of one NUMA node that you have in mind.

    With --events, or with --past, each event is told: who came, who was evicted for whom, who lost his place at a
    restart, what could not be started. With --pod those that this pod has a part in.

    With --log the story is read from what a kubelet (1.20 or later) wrote. Rejected pods are told, and pods that are
    recreated and rejected again and again. PODS beside it are played in the order of the log, and what is predicted for
    each is compared with what the log says.

    Exit status: 0 answered; with --check 1 if a pod that is told is rejected, and with events also what fails the check
    of `simulate`; 2 bad input or a kubelet that would not start, and with --strict also an answer with notes.
    """
    if log is not None and (events is not None or past is not None):
        source = "--events" if events is not None else "--past"
        raise InputError("goes without --log: that tells its own events", source=source)
    if events is not None and past is not None:
        raise InputError("--events and --past both say what happens", source="--past", cure="give one of them")
    if why_not is not None and (log is not None or events is not None or past is not None):
        raise InputError("goes without --log, --events and --past: it asks about pods that come", source="--why-not")
    if log is not None:
        notes, failed = _explain_log(options, log, everything=everything, pod_name=pod_name, output=output)
    elif everything:
        raise InputError("goes with --log only", source="--all")
    else:
        notes, failed = _explain_pods(options, pod_name, events, past, output, why_not)
    return status(notes, strict=strict, failed=check and failed)


def _explain_pods(
    options: NodeOptions,
    pod_name: str | None,
    events: Path | None,
    past: Path | None,
    output: str,
    why_not: int | None = None,
) -> Told:
    stage, simulation, more = _played(replace(options, again=pod_name or ""), events, past)
    whole = events is not None or past is not None
    decisions = [step.decision for step in with_evictions(simulation.steps)]
    told = [d for d in decisions if _is_named(d.pod.full_name, pod_name)]
    # With events, the one pod that is followed, whether it is ever decided or not.
    followed = _followed(stage, simulation, pod_name) if whole and pod_name is not None else ""
    undecided = any(_is_named(pod.full_name, pod_name) for pod in simulation.undecided)
    if not told and not whole:
        there = meant_or_there(pod_name or "", [pod.full_name for pod in stage.pods])
        why = "was not decided: the kubelet crashes before it comes" if undecided else there
        raise InputError(f"there is no decision about {pod_name}", source="--pod", cure=why)
    after = decisions[decisions.index(told[-1]) + 1 :] if told else []
    later = {decision.pod.full_name for decision in after} - {decision.pod.full_name for decision in told}
    others = _without_effect_on(simulation, followed) if followed else set()
    notes = tuple(note for note in (*notes_on_run(stage, simulation), *more) if note.about not in later | others)
    if why_not is not None:
        _say_elsewhere(stage, told, why_not, notes, output)
    elif whole:
        _say_events(simulation, followed, notes, output)
    else:
        _say_stories(stage, simulation, told, notes, output)
    waits = {uid for uid, _ in simulation.end.unstarted}
    failed = simulation.failed if pod_name is None else any(decision.pod.uid in waits for decision in told)
    return notes, failed or undecided or not all(decision.admitted for decision in told)


def _without_effect_on(simulation: Simulation, pod: str) -> set[str]:
    """Events at which nothing happens, and in which this pod has no part."""
    from numafit.decision.effects import told_events

    told = {each.number for each in told_events(simulation, pod)}
    numbers = (number for number, each in enumerate(simulation.happened, 1) if each.void and not each.crash)
    return {f"event {number}" for number in numbers if number not in told}


def _followed(stage: Stage, simulation: Simulation, name: str) -> str:
    decided = (step.decision.pod for step in with_evictions(simulation.steps))
    pods = dict.fromkeys(pod.full_name for pod in (*decided, *simulation.before.active.values(), *stage.pods))
    named = [pod for pod in pods if _is_named(pod, name)]
    if not named:
        raise InputError(f"there is no pod {name}", source="--pod", cure=meant_or_there(name, list(pods)))
    if len(named) > 1:
        raise InputError(f"{name} is {' or '.join(sorted(named))}", source="--pod", cure="write the namespace, too")
    return named[0]


def _played(options: NodeOptions, events: Path | None, past: Path | None) -> tuple[Stage, Simulation, tuple[Note, ...]]:
    """With notes on what a past does not tell, and where it was otherwise."""
    if past is not None:
        from numafit.advice.past.agreement import agreement_with
        from numafit.cli.options.past import load_past, played

        stage, told = load_past(options, past)
        simulation = played(stage, told)
        return stage, simulation, (*told.notes, *agreement_with(told, simulation)[1])
    if events is None:
        stage = load_stage(options)
        return stage, stage.play(stage.pods), ()
    from numafit.cli.options.events import read_event_file, with_event_file

    options, text = with_event_file(options, events)
    stage = load_stage(options, idle=True)
    return stage, play_events(stage.situation, read_event_file(options, stage, events, text)), ()


def _say_stories(
    stage: Stage, simulation: Simulation, told: Sequence[Decision], notes: Sequence[Note], output: str
) -> None:
    chances = _chances(simulation)
    stories = [(each, story_of(stage.node, each, chances.get(id(each), ""))) for each in told]
    if output == "json":
        from numafit.show.json import json_text
        from numafit.show.records.story import stories_record

        click.echo(json_text(stories_record(stories, notes)))
    else:
        say(lambda screen: story_text(stories, screen), notes)


def _say_elsewhere(stage: Stage, told: Sequence[Decision], numa: int, notes: Sequence[Note], output: str) -> None:
    from numafit.show.json import json_text
    from numafit.show.records.elsewhere import elsewhere_record
    from numafit.show.text.elsewhere import elsewhere_text

    ids = [node.id for node in stage.node.machine.numa_nodes]
    if numa not in ids:
        there = f"there are {cpuset_text(mask_of(ids))}"
        raise InputError(f"there is no NUMA node {numa}", source="--why-not", cure=there)
    answer = elsewhere_record([(stage.node, decision) for decision in told], numa, notes)
    if output == "json":
        click.echo(json_text(answer))
    else:
        say(lambda screen: elsewhere_text(answer, screen), notes)


def _say_events(simulation: Simulation, pod: str, notes: Sequence[Note], output: str) -> None:
    chances = _chances(simulation)
    if output == "json":
        from numafit.show.json import json_text
        from numafit.show.records.story import events_explained

        click.echo(json_text(events_explained(simulation, pod, notes, chances)))
    else:
        from numafit.show.text.events import events_story

        say(lambda screen: events_story(simulation, pod, chances, screen=screen), notes)


def _chances(simulation: Simulation) -> dict[int, str]:
    if not any(step.draws for step in simulation.steps):
        return {}
    from numafit.decision.doubt.chance import told_chances

    return told_chances(simulation)


def _explain_log(options: NodeOptions, log: Path, *, everything: bool, pod_name: str | None, output: str) -> Told:
    from numafit.advice.logs.agreement import PodAgreement, agreements, in_log_order
    from numafit.cli.kubelet.log import load_report

    stage = load_stage(options) if options.pods else None
    if stage is not None:
        machine: Machine | None = stage.node.machine
    else:
        machine = resolve_machine(options.machine_sources).machine if options.machine_sources else None
    told = everything or output == "json"
    wanted = {pod.full_name for pod in stage.pods} if stage is not None else set()
    logged: dict[str, Admission] = {}

    def keep(admission: "Admission") -> bool:
        if admission.pod in wanted:
            logged.setdefault(admission.pod, admission)
        return (told or admission.admitted is False) and _is_named(admission.pod, pod_name)

    report = load_report(log, keep)
    notes = report.notes
    compared: tuple[PodAgreement, ...] = ()
    if stage is not None:
        from numafit.cli.options.past import played_log

        pods = in_log_order(stage.pods, logged)
        # What came through a pipe cannot be read twice: of it only the order is known.
        piped = str(log) == "-"
        simulation, untold = (stage.play(pods), ()) if piped else played_log(stage, log, pods)
        notes += (*stage.notes_on(simulation), *untold)
        first = {step.decision.pod.full_name: step.decision for step in reversed(simulation.steps)}
        decisions = [decision for name, decision in reversed(first.items()) if _is_named(name, pod_name)]
        compared = agreements(decisions, logged)
    if output == "json":
        from numafit.show.json import json_text
        from numafit.show.records.log import log_record

        click.echo(json_text(log_record(report, machine, notes, compared)))
    else:
        from numafit.show.text.log import report_text

        say(lambda screen: report_text(report, machine, compared, everything=everything, screen=screen), notes)
    return notes, bool(report.rejected)


def _is_named(pod: str, name: str | None) -> bool:
    return name is None or name in (pod, pod.partition("/")[2])
