"""The manual of lint: a page per code, and each example on it is run."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from numafit.__main__ import main
from numafit.advice.lint import manual
from numafit.advice.lint.findings import CODES
from numafit.advice.lint.manual import page_of
from numafit.errors import InputError
from numafit.settings.options import CPU_OPTION_STAGES, TOPOLOGY_OPTION_STAGES

PAGES = Path(manual.__file__).with_suffix("")
INDEX = Path(__file__).resolve().parents[3] / "docs" / "lint.md"
OPTION_STAGES = ("alpha", "beta", "stable")
FIXES = "`--fix` corrects it."
_FILE = re.compile(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^```text\n\$ numafit (lint .*)\n((?:.*\n)*?)```$", re.MULTILINE)


class Example(NamedTuple):
    files: dict[str, str]
    command: list[str]
    output: str


def examples(page: str) -> tuple[Example, Example]:
    """The wrong one and the right one, which shows only the files that differ."""
    wrong_text, right_text = page.split("\n## Wrong\n")[1].split("\n## Right\n")
    found: list[Example] = []
    files: dict[str, str] = {}
    for text in (wrong_text, right_text):
        files = {**files, **dict(_FILE.findall(text))}
        ((command, output),) = _COMMAND.findall(text)
        found.append(Example(files, shlex.split(command), output))
    return found[0], found[1]


def without_notes(printed: str) -> str:
    """The pages name no release, and leave away that it is assumed."""
    return re.sub(r"\nNotes:\n(- .*\n)+$", "", printed)


def lay_out(example: Example) -> None:
    for name, text in example.files.items():
        Path(name).write_text(text)


def codes_in(output: str) -> set[str]:
    return set(re.findall(r"^\S+: (?:error|warning|info): (NF\d{3}) ", output, re.MULTILINE))


@pytest.fixture(params=list(CODES))
def code(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """In an empty folder."""
    monkeypatch.chdir(tmp_path)
    return str(request.param)


def test_the_wrong_example_yields_the_code_and_the_text_of_the_page(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, _ = examples(page_of(code))
    lay_out(wrong)
    main(wrong.command)
    printed = without_notes(capsys.readouterr().out)
    assert code in codes_in(printed)
    assert printed == wrong.output


def test_the_right_example_does_not_yield_it(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor anything else that fails."""
    _, right = examples(page_of(code))
    lay_out(right)
    assert main(right.command) == 0
    printed = without_notes(capsys.readouterr().out)
    assert code not in codes_in(printed)
    assert printed == right.output


def test_fix_does_what_the_page_says(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It makes the right example of the wrong one, or leaves the files as they are."""
    page = page_of(code)
    wrong, right = examples(page)
    lay_out(wrong)
    main([*wrong.command, "--fix"])
    capsys.readouterr()
    left = {name: Path(name).read_text() for name in wrong.files}
    assert left == (right.files if FIXES in page else wrong.files)


def test_a_page_begins_with_the_title_and_the_severity_of_its_code(code: str) -> None:
    title, _, line = page_of(code).split("\n")[:3]
    assert title == f"# {code}: {CODES[code].title}"
    assert line.startswith(f"Severity: {CODES[code].severity}. ")


def test_every_page_has_its_code() -> None:
    """The other way round: a page without a code would never be read."""
    assert sorted(path.name for path in PAGES.iterdir()) == [f"{code}.md" for code in sorted(CODES)]


def test_the_index_lists_each_code_with_severity_title_and_page() -> None:
    index = INDEX.read_text()
    rows = re.findall(r"^\| \[(NF\d{3})\] \| (\w+) \| (.*?)(?: \(`--fix`\))? \|$", index, re.MULTILINE)
    assert rows == [(code, own.severity, own.title) for code, own in CODES.items()]
    links = re.findall(r"^\[(NF\d{3})\]: (\S+)$", index, re.MULTILINE)
    assert links == [(code, f"../src/numafit/advice/lint/manual/{code}.md") for code in CODES]


def test_the_page_of_nf112_tells_the_stages_of_each_option() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| ([\d.]*) ?\| ([\d.]*) ?\| ([\d.]*) ?\|$", page_of("NF112"), re.MULTILINE)
    told = {
        option: {int(minor[2:]): stage for stage, minor in zip(OPTION_STAGES, minors, strict=True) if minor}
        for option, *minors in rows
    }
    assert told == {**CPU_OPTION_STAGES, **TOPOLOGY_OPTION_STAGES}


def test_links_between_pages_lead_somewhere() -> None:
    links = {link for code in CODES for link in re.findall(r"\]\(([^)]+)\)", page_of(code))}
    assert links
    assert [link for link in sorted(links) if not (PAGES / link).is_file()] == []


def test_what_is_no_code_has_no_page() -> None:
    """Also not one that leads out of the folder."""
    for name in ("NF999", "../codes", ""):
        with pytest.raises(InputError, match="is no code of lint"):
            page_of(name)
