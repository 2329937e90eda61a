"""A certificate authority for one cluster, and the certificates and kubeconfigs that it gives out."""

import json
import secrets
import subprocess
from pathlib import Path

from numafit.cluster.up.programs import openssl
from numafit.errors import InputError

DAYS = "3650"
"""A folder that is kept is used again later; what is in it is good on loopback only."""


class Authority:
    """What the folder has already is used again. Keys are elliptic curves: made at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.certificate, self.key = folder / "ca.crt", folder / "ca.key"
        if not self.certificate.exists():
            new = folder / "ca.crt.new"
            _openssl("req", "-x509", *_new_key(self.key), "-out", new, "-days", DAYS, "-subj", "/CN=numafit")
            new.replace(self.certificate)

    def issue(self, name: str, common_name: str, group: str = "", addresses: str = "") -> tuple[Path, Path]:
        """Certificate and key. With `addresses` (`DNS:…,IP:…`) it is a server's."""
        certificate, key, request, extensions = (self.folder / f"{name}.{end}" for end in ("crt", "key", "csr", "ext"))
        subject = f"/O={group}/CN={common_name}" if group else f"/CN={common_name}"
        server = f"subjectAltName={addresses}\nextendedKeyUsage=serverAuth,clientAuth\n"
        text = f"# {subject}\n" + (server if addresses else "extendedKeyUsage=clientAuth\n")
        if certificate.exists() and extensions.exists() and extensions.read_text() == text:
            return certificate, key
        # Only a certificate that is whole has one: a start that was killed begins it anew.
        certificate.unlink(missing_ok=True)
        extensions.write_text(text)
        _openssl("req", "-new", *_new_key(key), "-out", request, "-subj", subject)
        # By chance and not counted in a file: several threads may ask at once.
        serial = f"0x{secrets.token_hex(16)}"
        signer = ("-CA", self.certificate, "-CAkey", self.key, "-set_serial", serial)
        new = certificate.with_suffix(".crt.new")
        _openssl("x509", "-req", "-in", request, *signer, "-out", new, "-days", DAYS, "-extfile", extensions)
        new.replace(certificate)
        return certificate, key

    def kubeconfig(self, name: str, server: str, common_name: str, group: str = "", path: Path | None = None) -> Path:
        """It names the files of keys and has none in it: it may be printed."""
        certificate, key = self.issue(name, common_name, group)
        cluster = {"server": server, "certificate-authority": str(self.certificate)}
        user = {"client-certificate": str(certificate), "client-key": str(key)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "numafit", "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "numafit", "context": {"cluster": "numafit", "user": name}}],
            "current-context": "numafit",
        }
        path = path or self.folder / f"{name}.kubeconfig"
        new = path.with_name(f"{path.name}.new")
        new.write_text(json.dumps(content, indent=1) + "\n")
        new.replace(path)
        return path


def _new_key(path: Path) -> tuple[str | Path, ...]:
    return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path


def _openssl(*words: str | Path) -> None:
    command = [openssl(), *map(str, words)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        said = " ".join(done.stderr.split())[-500:]
        raise InputError(f"openssl {words[0]} failed with status {done.returncode}: {said}")
