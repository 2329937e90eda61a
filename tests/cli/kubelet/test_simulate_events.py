"""Event files, and the picture of who sits where."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from numafit.__main__ import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "small-node"
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:{spec}
  containers:
  - {{name: main, resources: {{requests: {{{limits}}}, limits: {{{limits}}}}}}}
"""


def test_a_removed_pod_makes_room(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The CPUs of the removed pod are free again when the CPU manager has ticked."""
    events = tmp_path / "events"
    events.write_text("add train\nremove train\nreconcile\nadd train\nrestart\n")
    picture = tmp_path / "who.svg"
    assert main(["simulate", str(EXAMPLES), "--events", str(events), "--picture", str(picture)]) == 0
    row = "   default/train  Guaranteed  admitted  0     1-2,9-10  4Gi@0   GPU-0"
    assert capsys.readouterr().out.split("\n\n")[0].splitlines()[1:] == [
        "1. add train",
        row,
        "2. remove train",
        "3. reconcile",
        "4. add train",
        row,
        "5. restart",
        row,
    ]
    assert "default/train" in "".join(ElementTree.fromstring(picture.read_text()).itertext())


NODE = ["--machine", str(EXAMPLES / "machine.json"), "--kubelet", str(EXAMPLES / "kubelet.yaml")]
CRITICAL = "\n  priorityClassName: system-node-critical\n  priority: 2000001000"


@pytest.mark.parametrize("command", ["simulate", "explain"])
@pytest.mark.parametrize(
    ("events", "status"),
    [
        ("add low\nadd high", 1),
        ("add low\nremove low\nadd high", 0),
        ("add high\nstop", 1),
        ("add high\nstop\nstart", 0),
        ("plugin-start lab.io/x x0@0\nadd user\ndevices lab.io/x !x0@0\nexit user", 0),
        ("add user\nplugin-start lab.io/x !x0@0\nexit user", 1),
        ("add user\nplugin-start lab.io/x !x0@0\nexit user\ndevices lab.io/x x0@0", 0),
    ],
)
def test_what_fails_the_check_of_a_run(
    command: str, events: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody is evicted; the kubelet is down at the end; a container cannot be started until then."""
    file, pods = tmp_path / "events", tmp_path / "pods.yaml"
    file.write_text(events)
    shapes = {"low": ("", "cpu: 10"), "high": (CRITICAL, "cpu: 10"), "user": ("", "lab.io/x: 1")}
    named = {name: own for name, own in shapes.items() if f"add {name}" in events}
    pods.write_text("---\n".join(POD.format(name=name, spec=spec, limits=own) for name, (spec, own) in named.items()))
    assert main([command, *NODE, "--events", str(file), "--check", str(pods)]) == status, capsys.readouterr().out


@pytest.mark.parametrize("command", ["simulate", "explain"])
def test_a_field_that_no_kubelet_knows_is_refused_in_a_later_configuration_too(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = tmp_path / "events"
    events.write_text("restart config=other.yaml\n")
    (tmp_path / "other.yaml").write_text((EXAMPLES / "kubelet.yaml").read_text() + "cpuManagerPolcy: static\n")
    assert main([command, str(EXAMPLES), "--events", str(events)]) == 2
    error = capsys.readouterr().err
    assert "other.yaml:" in error
    assert "cpuManagerPolcy: the kubelet v1.36.4 does not know this field" in error


def test_events_and_pods_cannot_both_be_standard_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--machine", "dgx-h100", "--events", "-", "-"]) == 2
    message = "--events: events and pods cannot both come from standard input (keep one of them in a file)"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("-", "-: is no file to write to (name one, or /dev/stdout)"),
        ("who.PNG", "who.PNG: pictures are drawn as SVG (call it who.svg)"),
        ("who-{m}-{n}.svg", "who-{m}-{n}.svg: {m} stands for nothing (write {n} for the number of the event)"),
    ],
)
def test_a_picture_is_an_svg_file(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", str(EXAMPLES), "--picture", name]) == 2
    assert capsys.readouterr().err == f"numafit: {message}\n"
    assert not list(tmp_path.iterdir())
