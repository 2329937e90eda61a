"""The commands of docs/kubernetes.md, one after the other, on a cluster that begins empty."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kube.build import HELM, binaries, missing, missing_for_helm
from tests.kube.control_plane import ControlPlane
from tests.kube.helm import DEPLOY

pytestmark = pytest.mark.real

ROOT = DEPLOY.parent
PAGE = ROOT / "docs" / "kubernetes.md"
PROGRAMS = ("helm", "kubectl", "numafit")
MONITORS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "podmonitors.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "names": {"kind": "PodMonitor", "plural": "podmonitors"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
"""As much of the Prometheus operator as the page needs."""


def commands(text: str) -> Iterator[str]:
    """Those in indented blocks; what is shown with its output begins with a dollar, and needs nodes."""
    for line in re.sub(r" \\\n +", " ", text).splitlines():
        command = line.removeprefix("    ").partition("  #")[0].strip()
        if line.startswith("    ") and line[4:5].isalpha() and command.startswith(tuple(f"{own} " for own in PROGRAMS)):
            yield command


@pytest.fixture(scope="module")
def empty(short_folder: Path) -> Iterator[ControlPlane]:
    if lacking := missing() or missing_for_helm():
        pytest.skip(lacking)
    with ControlPlane(short_folder / "page", binaries()) as own:
        yield own


def test_all_commands_of_the_page_work_in_its_order(empty: ControlPlane, tmp_path: Path) -> None:
    """But for those that ask nodes, of which there are none; and a Job does not run without any."""
    for name, path in (("helm", binaries(HELM)), ("kubectl", empty.binaries)):
        (tmp_path / name).symlink_to(path / name)
    (tmp_path / "numafit").write_text(f'#!/bin/sh\nexec {sys.executable} -m numafit "$@"\n')
    (tmp_path / "numafit").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "KUBECONFIG": str(empty.kubeconfig)}
    empty.api.post("/api/v1/namespaces", {"metadata": {"name": "team-a"}})
    empty.api.post("/api/v1/namespaces", {"metadata": {"name": "team"}})
    empty.api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", MONITORS)
    done = []
    for command in commands(PAGE.read_text()):
        # No container runs here whose port could be reached.
        if command.startswith("kubectl numafit") or " port-forward " in command:
            continue
        hooks = " --no-hooks" if command.startswith("helm uninstall") else ""
        ran = subprocess.run(
            command + hooks,
            shell=True,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"
        done.append(command)
    assert len([own for own in done if own.startswith("helm ")]) >= 5
