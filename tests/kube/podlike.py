"""What a pod's container sees, without a runtime: no root, nothing that can be written, the token of its account.

A mount namespace of its own; the programs and the network are the machine's.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.kube.control_plane import ControlPlane

USER = 65532
IN_A_POD = """set -e
mount --make-rprivate /
mount -t tmpfs none /run
mkdir -p /run/secrets/kubernetes.io/serviceaccount
cp "$TOKEN_FOLDER"/* /run/secrets/kubernetes.io/serviceaccount
chmod -R a+rX /run/secrets
mount -o remount,ro /run
for folder in /tmp /var/tmp; do mount -t tmpfs -o ro none $folder; done
mount -o remount,ro,bind /
cd /
exec setpriv --reuid 65532 --regid 65532 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
"""


def token_folder(cluster: ControlPlane, namespace: str, account: str, folder: Path) -> Path:
    """As a kubelet mounts it."""
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    place = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    folder.mkdir(parents=True)
    (folder / "token").write_text(cluster.api.post(place, asked)["status"]["token"])
    (folder / "ca.crt").write_bytes(cluster.authority.certificate.read_bytes())
    (folder / "namespace").write_text(namespace)
    return folder


def in_a_pod(cluster: ControlPlane, tokens: Path, command: list[str]) -> list[str]:
    """The command line that starts `numafit …`, as a container's command has it."""
    assert command[0] == "numafit"
    host, _, port = cluster.server.removeprefix("https://").partition(":")
    variables = {
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": port,
        "TOKEN_FOLDER": str(tokens),
        "POD_NAME": "the-pod",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": os.environ["PATH"],
    }
    words = [word.replace("$(POD_NAME)", "the-pod") for word in command[1:]]
    environment = ["env", "-i", *(f"{name}={text}" for name, text in variables.items())]
    return [*environment, "unshare", "-m", "sh", "-c", IN_A_POD, "sh", sys.executable, "-m", "numafit", *words]


def missing() -> str:
    """Why a process cannot be put into such a place here; empty where it can."""
    if os.geteuid() != 0:
        return "only root can take its rights away from a process"
    if Path(__file__).resolve().is_relative_to("/tmp") or Path(__file__).resolve().is_relative_to("/var/tmp"):
        return "the checkout lies where a pod sees an empty folder"
    probe = ["unshare", "-m", "setpriv", "--reuid", str(USER), "--clear-groups", sys.executable, "-c", "import numafit"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return f"another user cannot start this Python: {done.stderr.strip()[-200:]}" if done.returncode else ""
