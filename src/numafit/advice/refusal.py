"""A kubelet that would not start, as bad input: in its own words, at the line of the configuration they are about.

In a run it is no bad input: there the note on it names the line, and what to do.
"""

from collections.abc import Iterable

from numafit.advice.cures import cure_of, foremost
from numafit.advice.inspection.text import kubelet_text
from numafit.decision.history.event import RestartKubelet, StartKubelet
from numafit.decision.notes import NOT_STARTED
from numafit.decision.simulation import Happened, Simulation
from numafit.document import field_text
from numafit.errors import StartError, StartRefusedError
from numafit.notes import Note
from numafit.settings.read.loader import ConfigSources
from numafit.settings.versions import DEFAULT_VERSION, KubeVersion


def start_refusal(
    error: StartError, sources: ConfigSources, version: KubeVersion = DEFAULT_VERSION
) -> StartRefusedError:
    """Each value is shown where it was set last."""
    source = sources.arguments_source if sources.file is None else sources.file.name
    given = not sources.example and sources.file is not None
    problem = foremost(error)
    cure = cure_of(problem) if given or sources.arguments_source or sources.drop_ins else ""
    position, field = kubelet_text(sources, version).where(problem, error.stage)
    if position is None or "file" in problem.facts:
        return StartRefusedError(error, source=problem.facts.get("file", source), cure=cure)
    return StartRefusedError(
        error,
        source=position.source,
        line=position.line,
        column=position.column,
        field=field_text(field),
        cure=cure,
    )


def with_cures(simulation: Simulation, notes: Iterable[Note]) -> tuple[Note, ...]:
    """Notes on a run; those on a kubelet that did not start again say where to look and what to change."""
    cures = {f"event {number}": _cure(each) for number, each in enumerate(simulation.happened, 1) if each.refusal}
    return tuple(
        [
            Note(note.code, note.about, f"{note.text}{cures[note.about]}")
            if note.code == NOT_STARTED and note.about in cures
            else note
            for note in notes
        ]
    )


def _cure(happened: Happened) -> str:
    error, event = happened.refusal, happened.event
    if error is None or not isinstance(event, RestartKubelet | StartKubelet):
        return ""
    if event.how.config is None:
        cure = cure_of(foremost(error))
        return f" ({cure})" if cure else ""
    told = start_refusal(error, event.how.config, happened.after.node.settings.version)
    return f": {told.place}" + (f" ({told.cure})" if told.cure else "")
