"""A tree of small files packed as .tgz or .tar, read in memory: nothing is ever unpacked to disk.

Own code instead of `tarfile` for two reasons: it must refuse an archive that grows without bound while it is unpacked,
and it must read some 20,000 tiny members within a fraction of a second.
"""

from collections.abc import Iterator

import msgspec

from numafit.errors import InputError

LARGEST_FILE = 16 << 20
"""Bytes; /proc/cpuinfo of 4,096 CPUs needs about 6 MiB, all other files are smaller."""
LARGEST_ARCHIVE = 128 << 20
"""Bytes, unpacked."""
MOST_LINKS = 40
"""As many as Linux follows on one path."""

LONGEST_PATH = 4096

_BLOCK = 512
_GZIP = b"\x1f\x8b"
_CURE = "make one with `numafit machine capture`, or with `tar czf`"
_DIRECTORY, _LINK, _HARD_LINK, _FILES = b"5", b"2", b"1", (b"0", b"\0", b"7")
_LONG_NAME, _LONG_LINK, _PAX = b"L", b"K", b"x"


class _Member(msgspec.Struct):
    name: str
    kind: bytes
    target: str
    data: bytes


class ArchiveTree:
    """Knows the `Tree` protocol. Links lead only to other members, however they are written."""

    def __init__(self, members: Iterator[_Member], source: str) -> None:
        self._files: dict[str, bytes] = {}
        self._links: dict[str, str] = {}
        self._folders: dict[str, set[str]] = {"": set()}
        hard: dict[str, str] = {}
        for member in members:
            path = _inside(member.name, source)
            if not path:
                continue
            self._enter(path)
            if member.kind in _FILES:
                self._files[path] = member.data
            elif member.kind == _LINK:
                self._links[path] = member.target
            elif member.kind == _HARD_LINK:
                hard[path] = _inside(member.target, source)
            elif member.kind == _DIRECTORY:
                self._folders.setdefault(path, set())
        for path, other in hard.items():
            if other in self._files:
                self._files[path] = self._files[other]

    def _enter(self, path: str) -> None:
        """Archives may leave out the entries of folders."""
        while path:
            folder, _, name = path.rpartition("/")
            entries = self._folders.get(folder)
            if entries is not None:
                entries.add(name)
                return
            self._folders[folder] = {name}
            path = folder

    def text(self, path: str) -> str | None:
        data = self._files.get(path)
        if data is None and (real := self._real(path)) is not None:
            data = self._files.get(real)
        return None if data is None else data.decode("utf-8", "replace")

    def names(self, path: str) -> list[str]:
        entries = self._folders.get(path)
        if entries is None and (real := self._real(path)) is not None:
            entries = self._folders.get(real)
        return sorted(entries or ())

    def link(self, path: str) -> str | None:
        target = self._links.get(path)
        if target is None:
            folder, _, name = path.rpartition("/")
            real = self._real(folder)
            target = None if real is None else self._links.get(f"{real}/{name}" if real else name)
        return target

    def _real(self, path: str) -> str | None:
        """`path` without links in it; None when they lead outside, or in a circle."""
        done: list[str] = []
        left = path.split("/")[::-1]
        followed = 0
        while left:
            part = left.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if not done:
                    return None
                done.pop()
                continue
            target = self._links.get("/".join([*done, part]))
            if target is None:
                done.append(part)
                continue
            followed += 1
            if followed > MOST_LINKS or len(target) > LONGEST_PATH:
                return None
            if target.startswith("/"):
                done = []
            left += target.split("/")[::-1]
        return "/".join(done)


def is_archive(data: bytes) -> bool:
    return data[:2] == _GZIP or data[257:262] == b"ustar"


def archive_tree(data: bytes, source: str) -> ArchiveTree:
    if data[:2] == _GZIP:
        data = _unpacked(data, source)
    return ArchiveTree(_members(data, source), source)


def _unpacked(data: bytes, source: str) -> bytes:
    # A job starts quicker without it: it reads the live tree.
    import zlib

    parts: list[bytes] = []
    total = 0
    while data[:2] == _GZIP:
        stream = zlib.decompressobj(wbits=31)
        try:
            part = stream.decompress(data, LARGEST_ARCHIVE + 1 - total)
        except zlib.error as error:
            raise InputError(f"is damaged: {error}", source=source, cure=_CURE) from error
        total += len(part)
        if total > LARGEST_ARCHIVE:
            message = f"unpacks to more than {LARGEST_ARCHIVE >> 20} MiB"
            raise InputError(message, source=source, cure="pack only what `numafit machine capture` packs")
        if not stream.eof:
            raise InputError("ends too early", source=source, cure="copy the file again")
        parts.append(part)
        data = stream.unused_data
    return b"".join(parts)


def _members(data: bytes, source: str) -> Iterator[_Member]:
    if len(data) < _BLOCK:
        raise InputError("is not an archive", source=source, cure=_CURE)
    name = target = ""
    size: int | None = None
    at = 0
    while at + _BLOCK <= len(data):
        header = data[at : at + _BLOCK]
        if header[0] == 0 and not header.strip(b"\0"):
            return
        if sum(header) - sum(header[148:156]) + 8 * 32 != _number(header[148:156]):
            what = "is not an archive" if at == 0 else "is damaged"
            raise InputError(what, source=source, cure=_CURE)
        kind = header[156:157]
        length = _number(header[124:136]) if size is None or kind in (_LONG_NAME, _LONG_LINK, _PAX) else size
        if kind in (_LINK, _HARD_LINK, _DIRECTORY):
            length = 0
        if length is None or length > LARGEST_FILE:
            message = f"holds a file of more than {LARGEST_FILE >> 20} MiB"
            raise InputError(message, source=source, cure="pack only what `numafit machine capture` packs")
        body = data[at + _BLOCK : at + _BLOCK + length]
        if len(body) < length:
            raise InputError("ends too early", source=source, cure="copy the file again")
        at += _BLOCK + (length + _BLOCK - 1) // _BLOCK * _BLOCK
        if kind == _LONG_NAME:
            name = _words(body)
        elif kind == _LONG_LINK:
            target = _words(body)
        elif kind == _PAX:
            records = _pax(body)
            name, target = records.get("path", name), records.get("linkpath", target)
            size = int(records["size"]) if records.get("size", "").isdecimal() and len(records["size"]) < 20 else size
        else:
            yield _Member(name or _header_name(header), kind, target or _words(header[157:257]), body)
            name = target = ""
            size = None
    # The end is marked by zeros: an archive without it may have lost more.
    raise InputError("ends too early", source=source, cure="copy the file again")


def _header_name(header: bytes) -> str:
    name = _words(header[:100])
    prefix = _words(header[345:500]) if header[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


def _words(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")


def _number(field: bytes) -> int | None:
    """Octal text; None for anything else, such as GNU's binary form for sizes of 8 GiB and more."""
    digits = field.strip(b" \0")
    if not digits:
        return 0
    return int(digits, 8) if digits.isdigit() and not digits.strip(b"01234567") else None


def _pax(body: bytes) -> dict[str, str]:
    """Records of the form `27 path=a/very/long/name\\n`."""
    records: dict[str, str] = {}
    at = 0
    while at < len(body):
        digits = body[at : at + 9].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        key, equals, value = body[at + len(digits) + 1 : at + length].partition(b"=")
        if length <= len(digits) + 1 or not equals:
            break
        records[key.decode("utf-8", "replace")] = value.removesuffix(b"\n").decode("utf-8", "replace")
        at += length
    return records


def _inside(name: str, source: str) -> str:
    """The path without `.` and slashes around; what climbs out with `..` is refused."""
    parts = [part for part in name[: LONGEST_PATH + 1].split("/") if part not in ("", ".")]
    if len(name) > LONGEST_PATH:
        raise InputError("holds a path that is too long", source=source, cure=_CURE)
    if ".." in parts:
        raise InputError(
            f'the member "{name[:80]}" lies outside the archive', source=source, cure="do not trust this file"
        )
    return "/".join(parts)
