"""A kubelet that would not start, as bad input: in its own words, at the line of the configuration they are about."""

from numafit.document import field_text, read_document
from numafit.errors import StartError, StartRefusedError
from numafit.settings.versions import KubeVersion


def start_refusal(
    error: StartError, source: str, version: KubeVersion, configuration: str | bytes | None = None
) -> StartRefusedError:
    """`configuration` is the file of that name, where it is one; its field is named where that can be told."""
    if configuration is None:
        return StartRefusedError(error, source=source)
    from numafit.advice.lint.kubelet.refusals import words_of

    words = words_of(error.message, error.stage, version)
    document = read_document(configuration, source)
    top = document.value if isinstance(document.value, dict) else {}
    if not words.path or words.path[0] not in top:
        return StartRefusedError(error, source=source, cure=words.cure)
    line, column = document.place(words.path)
    return StartRefusedError(
        error, source=source, line=line, column=column, field=field_text(words.path), cure=words.cure
    )
