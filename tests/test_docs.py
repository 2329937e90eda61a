"""Each command shown in a document is run.

In a ```console block a line that starts with `$ ` is a command; `./dev run X` runs as `python -m numafit X`. A command
that ends in a backslash goes on in the next line. A comment at its end, `# exit 2`, names the exit status when it is not
0. Lines below a command are its output, and must be what it prints; `...` stands for any number of lines.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
# They would run this very test, or change the tree.
NOT_RUN = ("./dev test", "./dev lint", "./dev bench", "./dev page", "./dev lock", ".ci/run")


class Shown(NamedTuple):
    place: str
    command: str
    status: int
    output: tuple[str, ...]


def shown_in(text: str, name: str) -> list[Shown]:
    found: list[Shown] = []
    inside = False
    begun = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = line.strip() == "```console"
        elif inside and (begun or line.startswith("$ ")) and line.endswith("\\"):
            begun += line.removeprefix("$ ").removesuffix("\\")
        elif inside and (begun or line.startswith("$ ")):
            command, _, status = (begun + line.removeprefix("$ ")).partition(" # exit ")
            begun = ""
            found.append(Shown(f"{name}:{number}", command.strip(), int(status or 0), ()))
        elif inside and found:
            found[-1] = found[-1]._replace(output=(*found[-1].output, line))
    return found


def pattern(output: tuple[str, ...]) -> str:
    return "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in output)


COMMANDS = [shown for page in PAGES for shown in shown_in(page.read_text(), str(page.relative_to(ROOT)))]


@pytest.mark.parametrize("shown", COMMANDS, ids=lambda shown: shown.place)
def test_a_shown_command_does_what_the_page_says(shown: Shown) -> None:
    """Exit status and, where the page shows output, the output."""
    if shown.command.startswith(NOT_RUN):
        pytest.skip("runs the checks themselves")
    words = shlex.split(shown.command)
    if words[:2] == ["./dev", "run"]:
        words = [sys.executable, "-m", "numafit", *words[2:]]
    elif words[0] == "./dev":
        words = [sys.executable, *words]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == shown.status, done.stderr
    if shown.output:
        printed = done.stdout + done.stderr
        assert re.fullmatch(pattern(shown.output), printed), printed


def test_the_readme_shows_commands() -> None:
    """A first page without a command that works would teach nothing."""
    assert [shown for shown in COMMANDS if shown.place.startswith("README.md")]


def test_status_and_output_belong_to_the_command_above_them() -> None:
    """How this test reads a page."""
    page = "```console\n$ ./dev \\\n  run x # exit 2\nno x\n...\n```\n```\n$ not run\n```\n"
    assert shown_in(page, "page") == [Shown("page:3", "./dev   run x", 2, ("no x", "..."))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_inside_the_repository_leads_somewhere(page: Path) -> None:
    """Relative links name files that exist."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []
