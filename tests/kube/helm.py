"""Helm and the chart of deploy/, as somebody would use them."""

import subprocess
from pathlib import Path
from typing import NamedTuple

import yaml
from click.testing import CliRunner

from numafit.cli.commands import numafit
from tests.kube.api import Json
from tests.kube.build import HELM, binaries
from tests.kube.control_plane import ControlPlane

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
CHART = DEPLOY / "helm" / "numafit"
IMAGE_NAME = "example.com/numafit:0.1.0"
IMAGE = "--set=image.repository=example.com/numafit"
RELEASE_NAME = "numafit"


class Said(NamedTuple):
    status: int
    text: str


def helm(*words: str, cluster: ControlPlane | None = None) -> Said:
    """What it prints, with its complaints behind it."""
    where = [f"--kubeconfig={cluster.kubeconfig}"] if cluster else []
    return _said([str(binaries(HELM) / "helm"), *words, *where])


def kubectl(cluster: ControlPlane, *words: str, data: str = "") -> Said:
    return _said([str(cluster.binaries / "kubectl"), f"--kubeconfig={cluster.kubeconfig}", *words], data)


def templated(*options: str, namespace: str = "numafit") -> list[Json]:
    """The objects that the chart makes with an image and these options."""
    done = helm("template", RELEASE_NAME, str(CHART), f"--namespace={namespace}", IMAGE, *options)
    assert done.status == 0, done.text
    return objects(done.text)


def place_manifest(namespace: str, *options: str) -> str:
    """What the chart's place must be, as the command prints it."""
    words = ["place", "--manifest", f"--image={IMAGE_NAME}", f"--namespace={namespace}", *options]
    return CliRunner().invoke(numafit, words, catch_exceptions=False).stdout


def kustomized(cluster: ControlPlane, folder: str) -> str:
    done = kubectl(cluster, "kustomize", str(DEPLOY / "kustomize" / folder))
    assert done.status == 0, done.text
    return done.text


def objects(text: str) -> list[Json]:
    return [each for each in yaml.safe_load_all(text) if each]


def _said(command: list[str], data: str = "") -> Said:
    done = subprocess.run(command, input=data, capture_output=True, text=True, check=False, timeout=120)
    return Said(done.returncode, done.stdout if not done.returncode else done.stdout + done.stderr)
