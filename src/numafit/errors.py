"""The errors of numafit: one small tree, each message with its place and a cure.

NumafitError
├── InputError             something a person or a file gave us is wrong (exit 2)
│   ├── StartRefusedError  … a kubelet that would not start
│   ├── NeedsLinuxError    … of another system than Linux
│   └── ApiServerError     … a Kubernetes API server that refuses, or does not answer
└── KubeletError           the kubelet itself would refuse, in its own words
    ├── StartError         … while it starts: names the stage that fails
    └── KubeletPanic       … by crashing, or by never coming back
"""

import re
from collections.abc import Iterable, Mapping, Sequence

LONGEST_WORD = 300
LONGEST_SENTENCE = 2000
MOST_NAMED = 10
"""Of those that are there, where a name is not."""

FieldPath = tuple[str | int, ...]
"""A field of a document: names and list indices from its root."""


class NumafitError(Exception):
    """Anything that numafit reports by a sentence instead of a traceback."""


class InputError(NumafitError):
    """Bad input. `source` is a file name or a word for the input, lines and columns count from 1.

    `path` is the field where the input is a document, and `key` tells that its name is wrong, not its value.
    """

    def __init__(
        self,
        message: str,
        *,
        source: str = "",
        line: int | None = None,
        column: int | None = None,
        field: str = "",
        cure: str = "",
        path: FieldPath = (),
        key: bool = False,
    ) -> None:
        self.message = message
        self.source = source
        self.line = line
        self.column = column
        self.field = field
        self.cure = cure
        self.path = path
        self.key = key
        super().__init__(message)

    @property
    def place(self) -> str:
        """`FILE:LINE:COLUMN: FIELD`, as far as it is known."""
        position = ":".join(str(part) for part in (self.source, self.line, self.column) if part)
        return ": ".join(part for part in (position, self.field) if part)

    def __str__(self) -> str:
        parts = [part for part in (self.place, shortened(self.message)) if part]
        return ": ".join(parts) + (f" ({self.cure})" if self.cure else "")


class StartRefusedError(InputError):
    """What was given makes a kubelet that would not start; `refusal` is its own error."""

    def __init__(
        self,
        refusal: "StartError",
        *,
        source: str = "",
        line: int | None = None,
        column: int | None = None,
        field: str = "",
        cure: str = "",
    ) -> None:
        self.refusal = refusal
        message = f"the kubelet would not start: {refusal.message}"
        super().__init__(message, source=source, line=line, column=column, field=field, cure=cure)


class NeedsLinuxError(InputError):
    """Asked for on a system that is not Linux; what predicts runs wherever Python does."""

    def __init__(self, what: str) -> None:
        cure = "what predicts works here, from simulate to replay, with --machine FILE, NAME or SKETCH"
        super().__init__(f"{what} needs Linux", cure=cure)


class ApiServerError(InputError):
    """`status` is that of its answer; 0: there was none, or none of an API server."""

    def __init__(self, message: str, *, source: str = "", cure: str = "", status: int = 0) -> None:
        self.status = status
        super().__init__(message, source=source, cure=cure)


class DisruptionBudgetError(ApiServerError):
    """A pod is not evicted now, since a PodDisruptionBudget would be broken; the message names it."""


class SilentStreamError(ApiServerError):
    """A watch of which nothing was heard for longer than a server that lives is silent."""


def shortened(text: str) -> str:
    """A word of thousands of characters, such as a number, is cut: it hides the sentence around it. So is a file that
    the kubelet would repeat whole."""
    text = re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: f"{word[0][:40]}… ({len(word[0])} characters)", text)
    return text if len(text) <= LONGEST_SENTENCE else f"{text[: LONGEST_SENTENCE // 2]}… ({len(text)} characters)"


def near_words(word: str, known: Iterable[str]) -> list[str]:
    """Up to three that may have been meant, the nearest first, then those that begin like it; whatever their case."""
    # Only a wrong word needs it, and a command starts quicker without.
    from difflib import get_close_matches

    by_case = {name.lower(): name for name in known}
    begun = [name for name in by_case if len(word) > 1 and name.startswith(word.lower())]
    found = [*get_close_matches(word.lower(), list(by_case), 3), *begun]
    return [by_case[name] for name in dict.fromkeys(found)][:3]


def some_of(names: Sequence[str], most: int) -> str:
    """`a, b and 3 more`; all of them where they are no more than `most`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def meant_or_there(word: str, known: Sequence[str]) -> str:
    """A cure for a name that is not there: those that may have been meant, else some of those that are there.

    A namespace in front may be left away.
    """
    by_name = {name.rpartition("/")[2]: name for name in known}
    near = near_words(word, known) or [by_name[name] for name in near_words(word, by_name)]
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"there are {some_of(known, MOST_NAMED)}"


class KubeletError(NumafitError):
    """The kubelet's own error text, word for word, and beside it what the text means.

    `code` names the refusal, `field` the field of the configuration that it is about, `facts` are names and amounts in
    it: for positions and cures, which never look into the text.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        field: FieldPath = (),
        facts: Mapping[str, str] | None = None,
        cause: "KubeletError | None" = None,
        joins: "tuple[KubeletError, ...]" = (),
    ) -> None:
        """`cause`: the error that this text repeats in a longer one; `joins`: the errors that it lists.

        What is not given is that of the cause, or of the first of those that are joined.
        """
        known = cause or (joins[0] if joins else None)
        self.message = message
        self.code: str = code or (known.code if known else "")
        self.field: FieldPath = field or (known.field if known else ())
        self.facts: Mapping[str, str] = {**(known.facts if known else {}), **(facts or {})}
        self.cause = cause
        self._joined: tuple[KubeletError, ...] = joins or (cause._joined if cause else ())
        super().__init__(message)

    @property
    def problems(self) -> "tuple[KubeletError, ...]":
        """Each refusal by itself, in the kubelet's order."""
        return self._joined or (self,)


class StartError(KubeletError):
    """The kubelet does not start. `stage` is the constructor or start call that fails."""

    def __init__(
        self,
        stage: str,
        message: str,
        *,
        code: str = "",
        field: FieldPath = (),
        facts: Mapping[str, str] | None = None,
        cause: KubeletError | None = None,
        joins: tuple[KubeletError, ...] = (),
    ) -> None:
        self.stage = stage
        super().__init__(message, code=code, field=field, facts=facts, cause=cause, joins=joins)


class KubeletPanic(KubeletError):
    """The kubelet's process would end here; the text is Go's."""
