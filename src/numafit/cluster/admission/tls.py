"""What a server shows of itself, which can be replaced while it runs."""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from numafit.cluster.admission.certificate import ServerCertificate


def server_context() -> ssl.SSLContext:
    """Without a certificate yet. API servers ask webhooks by HTTP/1.1 only, whatever else is offered (1.36)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def show(context: ssl.SSLContext, shown: ServerCertificate) -> None:
    """From the next connection on. Raises ssl.SSLError for what is none, and then nothing has changed."""
    with _as_file(shown.certificate + shown.key) as path:
        # One that fails half-way would leave a certificate without its key.
        server_context().load_cert_chain(path)
        context.load_cert_chain(path)


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
