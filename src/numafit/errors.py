"""The errors of numafit: one small tree, each message with its place and a cure.

NumafitError
├── InputError        something a person or a file gave us is wrong (exit 2)
└── KubeletError      the kubelet itself would refuse, in its own words
    ├── StartError    … while it starts: names the stage that fails
    └── KubeletPanic  … by crashing, or by never coming back
"""

import re

LONGEST_WORD = 300


class NumafitError(Exception):
    """Anything that numafit reports by a sentence instead of a traceback."""


class InputError(NumafitError):
    """Bad input. `source` is a file name or a word for the input, lines and columns count from 1."""

    def __init__(
        self,
        message: str,
        *,
        source: str = "",
        line: int | None = None,
        column: int | None = None,
        field: str = "",
        cure: str = "",
    ) -> None:
        self.message = message
        self.source = source
        self.line = line
        self.column = column
        self.field = field
        self.cure = cure
        super().__init__(message)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.source, self.line, self.column) if part)
        parts = [part for part in (place, self.field, shortened(self.message)) if part]
        return ": ".join(parts) + (f" ({self.cure})" if self.cure else "")


def shortened(text: str) -> str:
    """A word of thousands of characters, such as a number, is cut: it hides the sentence around it."""
    return re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: f"{word[0][:40]}… ({len(word[0])} characters)", text)


class KubeletError(NumafitError):
    """The kubelet's own error text, word for word."""


class StartError(KubeletError):
    """The kubelet does not start. `stage` is the constructor or start call that fails."""

    def __init__(self, stage: str, message: str) -> None:
        self.stage = stage
        self.message = message
        super().__init__(message)


class KubeletPanic(KubeletError):
    """The kubelet's process would end here; the text is Go's."""
