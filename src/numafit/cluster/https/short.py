"""The short way for requests that came whole, at once and in the form that Go writes: no parser is asked.

Whatever differs in the least from that form is left to h11, of which this understands a part and nothing else: one POST
with a length in digits, headers of a short list that says nothing about connections, codings or what to expect, each of
them once, and exactly so many bytes behind them.
"""

import asyncio
import re
from collections.abc import Callable

from numafit.cluster.https.messages import ServerAnswer

LARGEST_HEAD = 4096
"""Bytes; longer ones are left to the parser."""
HEADERS = frozenset((b"host", b"user-agent", b"content-length", b"content-type", b"accept", b"accept-encoding"))

_FIRST = re.compile(rb"POST (/[!-~]*) HTTP/1\.1\Z")
_HEADER = re.compile(rb"([A-Za-z-]+): ([!-~](?:[ -~]*[!-~])?)\Z")
_DIGITS = re.compile(rb"[0-9]{1,18}\Z")


def whole_request(data: bytes) -> tuple[str, bytes] | None:
    """Target and content; None for everything else, also for a request that is not all there, or that another one
    follows."""
    end = data.find(b"\r\n\r\n", 0, LARGEST_HEAD)
    if end < 0:
        return None
    first, *lines = data[:end].split(b"\r\n")
    asked = _FIRST.match(first)
    if asked is None:
        return None
    told: dict[bytes, bytes] = {}
    for line in lines:
        header = _HEADER.match(line)
        if header is None:
            return None
        name, value = header.groups()
        told[name.lower()] = value
    length = told.get(b"content-length", b"")
    if len(told) != len(lines) or not told.keys() <= HEADERS or b"host" not in told or not _DIGITS.match(length):
        return None
    if len(data) - end - 4 != int(length):
        return None
    return asked[1].decode("ascii"), data[end + 4 :]


def whole_answer(answer: ServerAnswer, *, stays: bool) -> bytes:
    head = f"HTTP/1.1 {answer.status} \r\nContent-Type: {answer.kind}\r\nContent-Length: {len(answer.content)}\r\n"
    end = "\r\n" if stays else "Connection: close\r\n\r\n"
    return f"{head}{end}".encode("latin-1") + answer.content


class Receiver(asyncio.StreamReaderProtocol):
    """Hands what comes to `takes` first. What that does not want is for the reader, and for whoever waits for it: to
    wake somebody takes as long as to answer."""

    def __init__(self, reader: asyncio.StreamReader, takes: Callable[[bytes], bool]) -> None:
        super().__init__(reader)
        self._takes = takes

    def data_received(self, data: bytes) -> None:
        if not self._takes(data):
            super().data_received(data)
