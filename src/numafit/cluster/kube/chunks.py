"""An answer in chunks, taken apart as it comes: of a watch each object is one of them. A parser that knows all of HTTP
takes several times as long for that."""

import re

LONGEST_SIZE = 1024
"""Bytes of the line with the size of a chunk."""
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\Z", re.DOTALL)


class ChunkReader:
    def __init__(self) -> None:
        self.ended = False
        """What comes after that belongs to nobody."""
        self._line = b""
        """As much of a line with a size as came."""
        self._left = 0
        """Bytes of a chunk that are still to come."""
        self._end = b""
        """… and of what ends it."""

    def take(self, data: bytes) -> bytes:
        """What of it is content. Raises ConnectionResetError for what is none."""
        if self._line:
            data, self._line = self._line + data, b""
        found, place = [], 0
        while place < len(data) and not self.ended:
            if self._left:
                part = data[place : place + self._left]
                found.append(part)
                self._left -= len(part)
                place += len(part)
            elif self._end:
                here = data[place : place + len(self._end)]
                if not self._end.startswith(here):
                    raise _no_chunk()
                self._end = self._end[len(here) :]
                place += len(here)
            else:
                place = self._size(data, place)
        return b"".join(found)

    def _size(self, data: bytes, place: int) -> int:
        """Where the content begins."""
        end = data.find(b"\r\n", place, place + LONGEST_SIZE)
        if end < 0:
            if len(data) - place >= LONGEST_SIZE:
                raise _no_chunk()
            self._line = data[place:]
            return len(data)
        size = _SIZE.match(data[place:end])
        if size is None:
            raise _no_chunk()
        self._left, self._end = int(size[1], 16), b"\r\n"
        self.ended = self._left == 0
        return end + 2


def _no_chunk() -> ConnectionResetError:
    return ConnectionResetError("this is no answer in chunks")
