"""What lies in deploy/ is what the code says."""

import re
import subprocess
import sys
from pathlib import Path

import yaml
from click.testing import CliRunner

from numafit.cli.commands import numafit

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
BASE = DEPLOY / "kustomize" / "base"


def test_deploy_is_current() -> None:
    """As `./dev deploy check` compares it. Rights are defined once, in the code; the chart and the base have copies."""
    done = subprocess.run(
        [sys.executable, str(DEPLOY / "make.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def base() -> dict[tuple[str, str], object]:
    resources = yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]
    found = [each for name in resources for each in yaml.safe_load_all((BASE / name).read_text())]
    keyed = {(each["kind"], each["metadata"]["name"]): each for each in found}
    assert len(keyed) == len(found)
    return keyed


def test_the_base_has_all_that_the_commands_print() -> None:
    own = base()
    printed = []
    # The agent last: its namespace says which pods may be in it.
    for command in ("place", "node-agent"):
        text = CliRunner().invoke(numafit, [command, "--manifest", "--image=numafit"]).stdout
        printed += list(yaml.safe_load_all(text))
    expected = {(each["kind"], each["metadata"]["name"]): each for each in printed}
    assert {key: each for key, each in own.items() if key[0] != "NetworkPolicy"} == expected


def test_the_image_has_no_tools_of_development() -> None:
    """Only what pyproject.toml asks for at run time, each with hashes."""
    names = pins(DEPLOY / "requirements.lock")
    assert {"click", "grpcio", "lightkube", "msgspec", "pyyaml", "uvicorn"} <= names
    assert not names & {"pytest", "hatchling", "ruff", "mypy", "playwright", "nvidia-ml-py"}
    assert "hatchling" in pins(DEPLOY / "build-requirements.lock")


def pins(path: Path) -> set[str]:
    text = path.read_text()
    found = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in each for each in found)
    return {each.partition("==")[0] for each in found}
