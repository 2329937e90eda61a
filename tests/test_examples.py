"""The examples: each command of their page is run in a copy of its folder, and prints what lies beside it."""

import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from numafit.__main__ import main

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
INPUTS = ("docker-run.txt", "numactl.txt", "events.txt")
"""Texts that are given to a command, not printed by one."""
_ITEM = re.compile(r"^- .* `numafit ([^`]*)`(?: \(exit (\d)\))? prints \[\S+\]\((\S+)/(\S+)\)$", re.MULTILINE)


class Example(NamedTuple):
    command: list[str]
    status: int
    folder: str
    golden: str


def listed() -> list[Example]:
    page = (EXAMPLES / "README.md").read_text().replace("\n  ", " ")
    return [
        Example(shlex.split(command), int(status or 0), folder, golden)
        for command, status, folder, golden in _ITEM.findall(page)
    ]


@pytest.mark.parametrize("example", listed(), ids=lambda example: f"{example.folder}/{example.golden}")
def test_an_example_prints_its_golden_text(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Text to standard output, or the picture to its file; nothing to standard error."""
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLES / example.folder, folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("COLUMNS", raising=False)
    is_written = example.golden in example.command
    (folder / example.golden).unlink()
    status = main(example.command)
    printed = capsys.readouterr()
    found = (folder / example.golden).read_text() if is_written else printed.out
    assert (status, printed.err) == (example.status, "")
    assert found == (EXAMPLES / example.folder / example.golden).read_text()


def test_every_golden_text_and_picture_is_listed() -> None:
    """What no command prints would grow old unseen."""
    there = {path for pattern in ("*.txt", "*.svg") for path in EXAMPLES.rglob(pattern) if path.name not in INPUTS}
    assert {EXAMPLES / example.folder / example.golden for example in listed()} == there


def test_every_command_that_plays_or_reads_is_shown() -> None:
    """`explain --log` too."""
    shown = {" ".join(example.command) for example in listed()}
    played = ("advise", "compare", "explain", "explain --log", "fit", "simulate")
    wanted = (*played, "doctor", "lint", "machine links", "machine show")
    assert [name for name in wanted if not any(command.startswith(name + " ") for command in shown)] == []


def test_the_field_test_of_1_20_comes_out_as_its_state_files_say() -> None:
    """CPUs by pod, from cpu_manager_state of a real kubelet 1.20 after each step."""
    table = (EXAMPLES / "p100-box" / "field.txt").read_text().split("\n\n")[0].splitlines()
    rows = [line.split() for line in table if " admitted " in line and " shared " not in line]
    assert [(row[0], row[4]) for row in rows] == [
        ("default/cpu-3", "1-3"),
        ("default/cpu-13", "1-13"),
        ("default/cpu-14", "14-27"),
        ("default/cpu-12", "1-12"),
        ("default/gpu-1-cpu-3", "1-3"),
        ("default/gpu-2-cpu-3", "14-16"),
        ("default/second-gpu-1-cpu-3", "14-16"),
        ("default/gpu-1-cpu-3", "1-3"),
        ("default/cpu-12", "1-12"),
        ("default/gpu-1-cpu-16", "1-13,17-19"),
        ("default/gpu-2-cpu-16", "1-5,17-27"),
    ]
