"""Logs that other programs have wrapped: each line of the kubelet as a text in an object of JSON.

`journalctl -o json`, `json-seq` and `json-pretty`, and Docker's json-file. Lines stay where they are: what is taken out
of a line stands in the same line, and lines without a message become empty. What only puts something before a line
(`kubectl logs`, CRI, `journalctl`, `-o export`) needs no help.
"""

import re
from typing import Protocol

import msgspec

_SIGN = re.compile(rb'\A[\s\x1e]*\{[^\n]{0,20000}?"(?:MESSAGE|log)"\s*:|\A\s*\{\s*\n\s*"__?[A-Z_]+" :')
_PRETTY = re.compile(rb'\s*"MESSAGE" : (".*"|\[.*\]?),?\s*')


LONGEST_ENTRY = 1 << 26
"""Bytes; the longest lines of a kubelet, as a list of numbers. Longer ones are passed over."""


class ByteSource(Protocol):
    """Any stream that a log is read from."""

    def read(self, size: int, /) -> bytes: ...


class _JournalEntry(msgspec.Struct):
    message: str | list[int] | None = msgspec.field(default=None, name="MESSAGE")
    process: str = msgspec.field(default="", name="_PID")
    docker: str | None = msgspec.field(default=None, name="log")


_ENTRY = msgspec.json.Decoder(_JournalEntry)
_VALUE = msgspec.json.Decoder(str | list[int])


def is_wrapped(start: bytes) -> bool:
    """By the first bytes of a log. The kubelet's own JSON has neither of these members."""
    return _SIGN.search(start) is not None


def unwrapped(line: bytes) -> bytes:
    """What the kubelet wrote, without the end of its line; empty where this is no entry, or one that was cut."""
    line = line.strip(b" \t\r\n\x1e")
    try:
        if line.startswith(b"{"):
            entry = _ENTRY.decode(line)
            text = _text(entry.docker if entry.message is None else entry.message)
            return b"kubelet[%s]: %s" % (entry.process.encode(), text) if entry.process.isdecimal() else text
        pretty = _PRETTY.fullmatch(line)
        return _text(_VALUE.decode(pretty[1])) if pretty is not None else b""
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return b""


def _text(value: str | list[int] | None) -> bytes:
    """journald writes a message that is no UTF-8 as a list of its bytes."""
    if isinstance(value, list):
        return bytes(byte & 0xFF for byte in value).replace(b"\n", b" ")
    return (value or "").strip("\n").replace("\n", " ").encode("utf-8", "replace")


class UnwrappedStream:
    """A stream of the lines inside; only `read` is needed of it."""

    def __init__(self, stream: ByteSource, start: bytes) -> None:
        self.stream = stream
        self.rest = start

    def read(self, size: int) -> bytes:
        while True:
            chunk = self.stream.read(size)
            lines = (self.rest + chunk).split(b"\n")
            self.rest = lines.pop()
            if len(self.rest) > LONGEST_ENTRY:
                self.rest = b""
            if lines:
                return b"".join(unwrapped(line) + b"\n" for line in lines)
            if not chunk:
                rest, self.rest = self.rest, b""
                return unwrapped(rest)
