"""A certificate that is replaced while a server runs."""

import ssl
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.cluster.admission import tls
from numafit.cluster.admission.certificate import made_certificate
from numafit.cluster.admission.tls import server_context, show
from tests.cluster.admission.played import shaken


def test_what_cannot_be_shown_changes_nothing() -> None:
    context = server_context()
    own, other = made_certificate(["a.svc"], time.time()), made_certificate(["a.svc"], time.time())
    show(context, own)
    with pytest.raises(ssl.SSLError):
        show(context, replace(own, key=other.key))
    assert shaken(own, "a.svc")
    show(context, other)


def test_without_files_in_memory_the_key_is_readable_to_nobody_else_and_gone_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    modes = []

    class Watched:
        def load_cert_chain(self, path: str) -> None:
            modes.append((Path(path).parent, Path(path).stat().st_mode & 0o777))

    monkeypatch.delattr(tls.os, "memfd_create")
    monkeypatch.setattr(tls.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tls, "server_context", Watched)
    show(Watched(), made_certificate(["a.svc"], time.time()))  # type: ignore[arg-type]
    assert modes == [(tmp_path, 0o600), (tmp_path, 0o600)]
    assert list(tmp_path.iterdir()) == []
