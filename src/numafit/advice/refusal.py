"""A kubelet that would not start, as bad input: in its own words, at the line of the configuration they are about."""

from numafit.advice.cures import cure_of, foremost
from numafit.advice.inspection.text import kubelet_text
from numafit.document import field_text
from numafit.errors import StartError, StartRefusedError
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
