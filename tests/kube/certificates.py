"""A certificate authority for one cluster, and the certificates and kubeconfigs that it gives out."""

import json
import subprocess
from pathlib import Path

DAYS = "30"


class Authority:
    """Keys are elliptic curves: made at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.certificate, self.key = folder / "ca.crt", folder / "ca.key"
        _openssl("req", "-x509", *_new_key(self.key), "-out", self.certificate, "-days", DAYS, "-subj", "/CN=numafit")

    def issue(self, name: str, common_name: str, group: str = "", addresses: str = "") -> tuple[Path, Path]:
        """Certificate and key. With `addresses` (`DNS:…,IP:…`) it is a server's."""
        certificate, key, request = (self.folder / f"{name}.{end}" for end in ("crt", "key", "csr"))
        subject = f"/O={group}/CN={common_name}" if group else f"/CN={common_name}"
        _openssl("req", "-new", *_new_key(key), "-out", request, "-subj", subject)
        extensions = self.folder / f"{name}.ext"
        server = f"subjectAltName={addresses}\nextendedKeyUsage=serverAuth,clientAuth\n"
        extensions.write_text(server if addresses else "extendedKeyUsage=clientAuth\n")
        signer = ("-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial")
        _openssl("x509", "-req", "-in", request, *signer, "-out", certificate, "-days", DAYS, "-extfile", extensions)
        return certificate, key

    def kubeconfig(self, name: str, server: str, common_name: str, group: str = "") -> Path:
        certificate, key = self.issue(name, common_name, group)
        cluster = {"server": server, "certificate-authority": str(self.certificate)}
        user = {"client-certificate": str(certificate), "client-key": str(key)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "own", "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "own", "context": {"cluster": "own", "user": name}}],
            "current-context": "own",
        }
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps(content, indent=1))
        return path


def _new_key(path: Path) -> tuple[str | Path, ...]:
    return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path


def _openssl(*words: str | Path) -> None:
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"openssl {words[0]}: {done.stderr.strip()[-500:]}")
