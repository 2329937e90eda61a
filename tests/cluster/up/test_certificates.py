"""Certificates and kubeconfigs, with the openssl that is there."""

import json
import shutil
import ssl
import stat
from pathlib import Path

import pytest

from numafit.cluster.up.certificates import Authority

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made with openssl")


def test_what_it_signs_is_believed_and_used_again(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server", "somebody", addresses="DNS:localhost,IP:127.0.0.1")
    context = ssl.create_default_context(cafile=str(authority.certificate))
    context.load_cert_chain(certificate, key)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = certificate.read_bytes(), authority.certificate.read_bytes()
    again = Authority(tmp_path)
    again.issue("server", "somebody", addresses="DNS:localhost,IP:127.0.0.1")
    assert (certificate.read_bytes(), again.certificate.read_bytes()) == before
    # for somebody else, or of other addresses, it is another one
    again.issue("server", "somebody", addresses="DNS:localhost")
    assert certificate.read_bytes() != before[0]


def test_a_certificate_that_was_not_finished_is_made_anew(tmp_path: Path) -> None:
    certificate, _ = Authority(tmp_path).issue("user", "somebody", "group")
    certificate.unlink()
    assert Authority(tmp_path).issue("user", "somebody", "group")[0].exists()


def test_a_kubeconfig_has_no_key_in_it(tmp_path: Path) -> None:
    path = Authority(tmp_path / "pki").kubeconfig("admin", "https://x:1", "admin", path=tmp_path / "kubeconfig")
    content = json.loads(path.read_text())
    assert content["clusters"][0]["cluster"]["server"] == "https://x:1"
    assert content["users"][0]["user"] == {
        "client-certificate": str(tmp_path / "pki" / "admin.crt"),
        "client-key": str(tmp_path / "pki" / "admin.key"),
    }
