"""Starts of the real kubelet 1.36.3: bad configurations, damaged state files, a machine that changed in between.

A kubelet that comes up must come up here, and one that does not must say the same.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from numafit.cli.options.machine import resolve_machine
from numafit.decision.start import Start, start
from numafit.errors import StartError
from numafit.machine.model import Machine
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import parse_version

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
RUNS = SHARED / "kubelet-runs2"
RELEASE = parse_version("1.36.3")

if not RUNS.is_dir():
    pytest.skip("the shared runs of the whole kubelet are not there", allow_module_level=True)


@cache
def machine_of(archive: Path) -> Machine:
    return resolve_machine((str(archive),)).machine


def captured(run: Path) -> Machine:
    return machine_of(SHARED / "captures" / (run / "machine").read_text().strip() / "sys.tgz")


def said(machine: Machine, config: str, files: dict[str, str]) -> str | None:
    """What keeps this kubelet from starting; None if nothing does."""
    sources = ConfigSources(file=ConfigFile("kubelet-config.json", config))
    try:
        start(Start(version=RELEASE, sources=sources, machine=machine, files=files))
    except StartError as error:
        return error.message
    return None


def heard(log: str) -> str:
    """The error in the last line of a log, without what the kubelet puts around each of them.

    A prefix names the manager that does not start: the stage of our refusals. After a refused configuration it prints
    the object, of which Go shows an empty kind only.
    """
    line = log.splitlines()[-1]
    if line.startswith("panic: "):
        return line.removeprefix("panic: ")
    quoted = re.search(r'err=("(?:[^"\\]|\\.)*")', line)
    assert quoted is not None, line
    text: str = json.loads(quoted.group(1))
    text = re.sub(r"^(failed to run Kubelet|start (cpu|memory) manager error): ", "", text)
    return text.removesuffix(", path: &TypeMeta{Kind:,APIVersion:,}")


def starts() -> list[Any]:
    """Only the start of a kubelet, with each configuration."""
    found = []
    for result in sorted(RUNS.glob("*/result.json")):
        steps = json.loads(result.read_text())["steps"]
        found += [
            pytest.param(result.parent, step, id=f"{result.parent.name}: {step['why']}")
            for step in steps
            if step["op"] == "start"
        ]
    return found


def restarts() -> list[Any]:
    """Starts over state files that the run shows as the kubelet found them."""
    found = []
    for result in sorted(RUNS.glob("*/result.json")):
        steps = json.loads(result.read_text())["steps"]
        found += [
            pytest.param(result.parent, step, id=f"{result.parent.name}: {number}")
            for number, step in enumerate(steps)
            if step["op"] == "restart" and "state_files" in step
        ]
    return found


@pytest.mark.parametrize(("run", "step"), starts())
def test_a_kubelet_starts_or_says_why_not(run: Path, step: dict[str, Any]) -> None:
    """Whether it starts, and its words (1.36.3)."""
    message = said(captured(run), json.dumps(step["config_file"]), {})
    assert message == (heard(step["message"]) if step["exit"] else None)


@pytest.mark.parametrize(("run", "step"), restarts())
def test_a_kubelet_takes_its_state_files_again_or_says_why_not(run: Path, step: dict[str, Any]) -> None:
    """Over files that were edited, less memory, CPUs that went offline (1.36.3)."""
    machine = machine_of(run / step["machine_after"]) if "machine_after" in step else captured(run)
    config = step["config_file"] if "config_file" in step else json.loads((run / "kubelet-config.json").read_text())
    message = said(machine, json.dumps(config), step["state_files"])
    if message is not None:
        # Go 1.26, of which this kubelet was built, does not name the key of a map; the Go of the recordings does.
        message = re.sub(r"(Go struct field \w+\.entries)\.\S+ of type", r"\1 of type", message)
    assert message == (heard(step["crash"]["text"]) if step["exit"] else None)
