"""A kubelet that would not start, as bad input: in its own words, at the line of the configuration they are about."""

from numafit.advice.cures import cure_of, foremost
from numafit.advice.lint.kubelet.text import KubeletText
from numafit.advice.lint.pages import DocumentPart, FlagFile
from numafit.document import Path, field_text, read_document
from numafit.errors import InputError, StartError, StartRefusedError
from numafit.settings.read.loader import FILE_STAGE, ConfigFile, ConfigSources, in_merge_order


def start_refusal(error: StartError, sources: ConfigSources) -> StartRefusedError:
    """Each value is shown where it was set last."""
    source = sources.arguments_source if sources.file is None else sources.file.name
    file = None if sources.example else sources.file
    flags = None
    if sources.arguments_source:
        flags = FlagFile(sources.arguments_source, sources.arguments_text, sources.arguments)
    drop_ins = in_merge_order(sources.drop_ins or ())
    problem = foremost(error)
    cure = cure_of(problem) if file is not None or flags is not None or drop_ins else ""
    field: Path = ()
    position = None
    if "flag" in problem.facts:
        position = KubeletText(None, flags).flag_place(problem.facts["flag"])
    elif problem.field:
        text = _text(error, file, drop_ins, flags)
        field = text.cause_of(problem)
        position = text.position(field)
    if position is None:
        return StartRefusedError(error, source=problem.facts.get("file", source), cure=cure)
    return StartRefusedError(
        error,
        source=position.source,
        line=position.line,
        column=position.column,
        field=field_text(field),
        cure=cure,
    )


def _text(
    error: StartError, file: ConfigFile | None, drop_ins: list[ConfigFile], flags: FlagFile | None
) -> KubeletText:
    """Those of its parts that the kubelet had read when it refused."""
    part = None if file is None else _part(file)
    if error.stage == FILE_STAGE:
        return KubeletText(part, None)
    parts = (_part(patch) for patch in drop_ins)
    return KubeletText(part, flags, tuple(part for part in parts if part is not None))


def _part(file: ConfigFile) -> DocumentPart | None:
    """None for a file that is broken or empty: the kubelet refused before it came to it."""
    try:
        return DocumentPart(read_document(file.text, file.name))
    except InputError:
        return None
