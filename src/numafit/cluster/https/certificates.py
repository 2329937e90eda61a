"""What a server shows to its clients, and whom it trusts: from memory, or from files, read again when they change."""

import os
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from numafit.errors import InputError

LOOK_SECONDS = 1.0
"""Between two looks whether a file has changed; it is looked at when somebody comes."""


class ServingFiles(msgspec.Struct, frozen=True):
    certificate: Path
    """With those between it and its authority behind it."""
    key: Path
    client_authority: Path | None = None
    """Only who has a certificate of one of these is let in; None: everybody is."""


class ServingContext:
    """The newest that could be read: files that do not belong together, while they are being replaced, change
    nothing."""

    def __init__(self, files: ServingFiles, say: Callable[[str], None] = lambda _: None) -> None:
        """Raises InputError where they cannot be used now."""
        self._files, self._say = files, say
        self._seen = self._stamps()
        self._looked = time.monotonic()
        self._context = tls_of(files)

    def __call__(self) -> ssl.SSLContext:
        now = time.monotonic()
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            stamps = self._stamps()
            if stamps != self._seen:
                self._seen = stamps
                self._read_again()
        return self._context

    def _read_again(self) -> None:
        try:
            self._context = tls_of(self._files)
        except InputError as error:
            self._say(f"the certificates stay as they were: {error}")
        else:
            self._say("new certificates are in use")

    def _stamps(self) -> tuple[tuple[int, ...], ...]:
        stamps = []
        for path in (self._files.certificate, self._files.key, self._files.client_authority):
            own: tuple[int, ...] = ()
            if path is not None:
                with suppress(OSError):
                    told = path.stat()
                    own = (told.st_ino, told.st_mtime_ns, told.st_size)
            stamps.append(own)
        return tuple(stamps)


def tls_of(files: ServingFiles) -> ssl.SSLContext:
    """Raises InputError with the file that is wrong."""
    context = _bare()
    for path in (files.certificate, files.key, files.client_authority):
        if path is not None:
            _check(path)
    try:
        context.load_cert_chain(files.certificate, files.key)
    except (ssl.SSLError, OSError) as error:
        cure = "both are PEM, and the key is that of the first certificate"
        why = f"certificate and key cannot be used together: {_reason(error)}"
        raise InputError(why, source=f"{files.certificate}, {files.key}", cure=cure) from None
    if files.client_authority is not None:
        try:
            context.load_verify_locations(files.client_authority)
        except (ssl.SSLError, OSError) as error:
            why = f"this is no certificate of an authority: {_reason(error)}"
            raise InputError(why, source=str(files.client_authority), cure="it is PEM") from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def tls_from_memory(certificate: bytes, key: bytes) -> ssl.SSLContext:
    """Everybody is let in. Raises ssl.SSLError where they are none, or not of each other."""
    context = _bare()
    with _as_file(certificate + key) as path:
        context.load_cert_chain(path)
    return context


def _bare() -> ssl.SSLContext:
    """API servers ask webhooks by HTTP/1.1 only, whatever else is offered (1.36)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Python's ssl reads files only. On Linux this one lies in memory and has no name; elsewhere nobody else can read
    it, and it is gone at once."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("certificate", os.MFD_CLOEXEC)
        try:
            os.write(number, content)
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)
    else:
        with tempfile.NamedTemporaryFile(prefix="numafit-") as file:
            file.write(content)
            file.flush()
            yield file.name


def _check(path: Path) -> None:
    try:
        path.open("rb").close()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=str(path)) from None


def _reason(error: OSError) -> str:
    return (error.reason if isinstance(error, ssl.SSLError) else error.strerror) or "it is not readable as one"
