"""Certificates from files: who is let in, and what happens when the files are replaced."""

import asyncio
import os
import shutil
import ssl
import tempfile
import time
from pathlib import Path

import pytest

from numafit.cluster.admission.certificate import made_certificate
from numafit.cluster.https import certificates
from numafit.cluster.https.certificates import ServingContext, ServingFiles, tls_from_memory, tls_of
from numafit.cluster.https.messages import ServerAnswer, ServerRequest
from numafit.cluster.up.certificates import Authority
from numafit.errors import InputError
from tests.cluster.https.test_server import client, run, serving

ADDRESSES = "IP:127.0.0.1"


async def who(request: ServerRequest) -> ServerAnswer:
    return ServerAnswer(request.peer.encode())


def files(folder: Path, authority: Authority, name: str = "server") -> ServingFiles:
    """Copies, which a test may replace."""
    certificate, key = authority.issue(name, name, addresses=ADDRESSES)
    folder.mkdir(exist_ok=True)
    shutil.copy(certificate, folder / "tls.crt")
    shutil.copy(key, folder / "tls.key")
    shutil.copy(authority.certificate, folder / "ca.crt")
    return ServingFiles(folder / "tls.crt", folder / "tls.key", folder / "ca.crt")


def trusting(server: Authority, own: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(server.certificate))
    if own is not None:
        context.load_cert_chain(*own)
    return context


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def test_only_who_has_a_certificate_of_the_authority_is_let_in(tmp_path: Path, authority: Authority) -> None:
    stranger = Authority(tmp_path / "stranger")

    async def test() -> None:
        own = files(tmp_path / "files", authority)
        async with serving(who, ServingContext(own)) as (_, port):
            known = trusting(authority, authority.issue("scheduler", "scheduler"))
            async with client(port, ssl=known) as asking:
                assert await asking.ask() == (200, b"scheduler")
            for wrong in (trusting(authority), trusting(authority, stranger.issue("scheduler", "scheduler"))):
                with pytest.raises((OSError, asyncio.IncompleteReadError)):
                    async with client(port, ssl=wrong) as refused:
                        await refused.ask()
            async with client(port, ssl=known) as asking:
                assert await asking.ask() == (200, b"scheduler")

    run(test())


def test_new_files_are_used_for_who_comes_next_and_old_connections_are_closed(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "LOOK_SECONDS", 0.0)
    other = Authority(tmp_path / "other")
    said: list[str] = []

    async def test() -> None:
        own = files(tmp_path / "files", authority)
        async with serving(who, ServingContext(own, said.append)) as (_, port):
            first = trusting(authority, authority.issue("scheduler", "scheduler"))
            async with client(port, ssl=first) as asking:
                assert await asking.ask() == (200, b"scheduler")
                # Half of it: the old ones stay in use.
                (tmp_path / "files" / "tls.key").write_bytes(
                    other.issue("server", "server", addresses=ADDRESSES)[1].read_bytes()
                )
                assert await asking.ask() == (200, b"scheduler")
                files(tmp_path / "files", other)
                assert await asking.ask() == (200, b"scheduler")
                assert await asking.closed()
            second = trusting(other, other.issue("scheduler", "new scheduler"))
            async with client(port, ssl=second) as asking:
                assert await asking.ask() == (200, b"new scheduler")

    run(test())
    assert said[0].startswith("the certificates stay as they were: ")
    assert said[-1] == "new certificates are in use"


def test_without_an_authority_of_clients_everybody_is_let_in(tmp_path: Path, authority: Authority) -> None:
    async def test() -> None:
        own = files(tmp_path / "files", authority)
        shown = ServingContext(ServingFiles(own.certificate, own.key))
        async with serving(who, shown) as (_, port), client(port, ssl=trusting(authority)) as asking:
            assert await asking.ask() == (200, b"")

    run(test())


def test_files_that_cannot_be_used_are_named(tmp_path: Path, authority: Authority) -> None:
    own = files(tmp_path / "files", authority)
    other = files(tmp_path / "other", authority, "another")
    assert own.client_authority is not None
    with pytest.raises(InputError, match="absent: cannot be read: No such file"):
        tls_of(ServingFiles(tmp_path / "absent", own.key))
    with pytest.raises(InputError, match=r"cannot be used together: .*key is that of the first certificate"):
        tls_of(ServingFiles(own.certificate, other.key))
    own.client_authority.write_text("nothing")
    with pytest.raises(InputError, match=r"ca.crt: this is no certificate of an authority"):
        tls_of(own)


def test_a_key_of_another_certificate_is_not_taken() -> None:
    own, other = made_certificate(["a.svc"], time.time()), made_certificate(["a.svc"], time.time())
    with pytest.raises(ssl.SSLError):
        tls_from_memory(own.certificate, other.key)


def test_without_files_in_memory_the_key_is_readable_to_nobody_else_and_gone_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    modes = []

    class Watched:
        def load_cert_chain(self, path: str) -> None:
            modes.append((Path(path).parent, Path(path).stat().st_mode & 0o777))

    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(certificates, "_bare", Watched)
    own = made_certificate(["a.svc"], time.time())
    tls_from_memory(own.certificate, own.key)
    assert modes == [(tmp_path, 0o600)]
    assert list(tmp_path.iterdir()) == []
