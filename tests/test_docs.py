"""Each command shown in a document is run.

In a ```console block a line that starts with `$ ` is a command; `./dev run X` runs as `python -m numafit X`. A command
that ends in a backslash goes on in the next line; variables may stand before it. A comment at its end, `# exit 2`,
names the exit status when it is not 0. Lines below a command are its output, and must be what it prints; `...` stands
for any number of lines.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from numafit.cli.commands import COMMANDS, numafit
from tests.cluster.api_server import ApiServer, serving
from tests.cluster.api_server import kubeconfig as write_kubeconfig

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("docs", "examples", "tests/recordings")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
# They would run this very test, or change the tree.
NOT_RUN = (
    "./dev test",
    "./dev lint",
    "./dev bench",
    "./dev page",
    "./dev wire",
    "./dev deploy",
    "./dev lock",
    ".ci/run",
)
PACKAGE = ROOT / "src" / "numafit"
INDEX = (ROOT / "docs" / "README.md").read_text()
WIDEST = 120
VARIABLE = re.compile(r"[A-Z_]+=")


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


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of a recorded API server, which commands with --node ask."""
    with serving(ApiServer()) as server:
        yield write_kubeconfig(tmp_path_factory.mktemp("kube"), server.url)


SHOWN = [shown for page in PAGES for shown in shown_in(page.read_text(), str(page.relative_to(ROOT)))]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.place)
def test_a_shown_command_does_what_the_page_says(shown: Shown, tmp_path: Path, kubeconfig: Path) -> None:
    """Exit status and, where the page shows output, the output. Ledger of the host: empty; cluster: recorded."""
    if shown.command.startswith(NOT_RUN):
        pytest.skip("runs the checks themselves")
    words = shlex.split(shown.command)
    environment = {**os.environ, "NUMAFIT_STATE": str(tmp_path), "KUBECONFIG": str(kubeconfig)}
    while VARIABLE.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    if words[:2] == ["./dev", "run"]:
        words = [sys.executable, "-m", "numafit", *words[2:]]
    elif words[0] == "./dev":
        words = [sys.executable, *words]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == shown.status, done.stderr
    if shown.output:
        printed = done.stdout + done.stderr
        assert re.fullmatch(pattern(shown.output), printed), printed


def test_the_readme_shows_commands() -> None:
    """A first page without a command that works would teach nothing."""
    assert [shown for shown in SHOWN if shown.place.startswith("README.md")]


def test_status_and_output_belong_to_the_command_above_them() -> None:
    """How this test reads a page."""
    page = "```console\n$ ./dev \\\n  run x # exit 2\nno x\n...\n```\n```\n$ not run\n```\n"
    assert shown_in(page, "page") == [Shown("page:3", "./dev   run x", 2, ("no x", "..."))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_inside_the_repository_leads_somewhere(page: Path) -> None:
    """Relative links name files that exist."""
    text = page.read_text()
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text) + re.findall(r"^\[\w+\]: ([^:\s]+)$", text, re.MULTILINE)
    assert [link for link in links if not (page.parent / link).exists()] == []


def prose_and_commands(page: Path) -> Iterator[tuple[int, str]]:
    """Without what programs print and read: that cannot be broken."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside or line.startswith("$ "):
            yield number, line


@pytest.mark.parametrize("page", [*PAGES, ROOT / "tests/vm/README.md"], ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_are_short(page: Path) -> None:
    """The pages of lint's codes are texts that it prints, and stay as they are."""
    assert [number for number, line in prose_and_commands(page) if len(line) > WIDEST] == []


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_to_a_heading_finds_it(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)#([^)]*)\)", page.read_text())
    lost = [(file, anchor) for file, anchor in links if anchor not in anchors(page.parent / file if file else page)]
    assert lost == []


def command_names() -> Iterator[str]:
    for name in COMMANDS:
        command = numafit.get_command(click.Context(numafit), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from (f"{name} {part}" for part in command.list_commands(click.Context(command)))
        else:
            yield name


def test_each_command_has_a_page() -> None:
    """Also those of a group."""
    rows = re.findall(
        r"^\| `numafit ([a-z]+(?:-[a-z]+)*(?: [a-z]+(?:-[a-z]+)*)*)` \| .* \| \[.*\]\(.*\) \|$", INDEX, re.MULTILINE
    )
    assert sorted(rows) == sorted(command_names())


def section(heading: str) -> str:
    return INDEX.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_where_is_it_names_files_and_folders_that_exist() -> None:
    named = re.findall(r"`([\w/]+(?:\.py|/))`", section("Where is it in the code?"))
    assert len(named) > 40
    assert [path for path in named if not (PACKAGE / path).exists() and not (ROOT / path).exists()] == []


def test_the_tree_of_the_house_has_each_folder() -> None:
    """A room begins a line; the folders inside it follow, with a slash at their end."""
    drawn: dict[str, set[str]] = {}
    room = ""
    for line in section("The house").split("```")[1].strip().splitlines():
        names = re.findall(r"(\w+)/(?!\w)", line)
        if line[0] != " " and names:
            room = names.pop(0)
        drawn.setdefault(room, set()).update(names)
    built = {path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("*/__init__.py")}
    rooms = {path.name for path in built if len(path.parts) == 1}
    assert {name for name in drawn if name} == rooms
    for name in rooms:
        assert drawn[name] == {path.name for path in built if path.parts[0] == name and len(path.parts) > 1}, name


def test_each_room_has_a_page() -> None:
    rows = re.findall(r"^\| `(\w+)` \| \[", section("The house"), re.MULTILINE)
    assert sorted(rows) == sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_file_of_the_code_that_a_page_names_exists(page: Path) -> None:
    """Under `src/numafit` or in the repository; TOOL stands for a name to choose."""
    named = re.findall(r"`([\w/]+/\w+\.py)`", page.read_text())
    roots = (PACKAGE, ROOT)
    assert [path for path in named if "TOOL" not in path and not any((root / path).exists() for root in roots)] == []


@pytest.mark.parametrize(
    "room", sorted(path.parent for path in PACKAGE.glob("*/__init__.py")), ids=lambda room: room.name
)
def test_the_page_of_a_room_names_its_parts(room: Path) -> None:
    """The modules and folders directly inside, on one of the pages that the table of rooms leads to."""
    (row,) = re.findall(rf"^\| `{room.name}` \| (.*) \|$", section("The house"), re.MULTILINE)
    pages = "".join((ROOT / "docs" / link).read_text() for link in re.findall(r"\((\S+?)\)", row))
    parts = {path.stem for path in room.glob("*.py")} | {path.parent.name for path in room.glob("*/__init__.py")}
    assert {part for part in parts - {"__init__"} if not re.search(rf"`{part}[`/]", pages)} == set()
