"""The first page, in two languages: both say the same, and what they show is true."""

import re
from pathlib import Path

import pytest

from numafit.__main__ import main
from tests.test_examples import EXAMPLES, listed

ROOT = Path(__file__).resolve().parents[1]
ENGLISH = (ROOT / "README.md").read_text()
CHINESE = (ROOT / "README.zh.md").read_text()
OTHER_LANGUAGE = {"README.md", "README.zh.md"}


def code_blocks(page: str) -> list[str]:
    return re.findall(r"^```.*?^```$", page, re.MULTILINE | re.DOTALL)


def prose(page: str) -> str:
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def links(page: str) -> list[str]:
    return sorted(link for link in re.findall(r"\]\(([^)]+)\)", prose(page)) if link not in OTHER_LANGUAGE)


def rows(page: str) -> list[str]:
    """The first cell of each row of a table, below its head."""
    return re.findall(r"^\| (\[.*?) \|", prose(page), re.MULTILINE)


def headings(page: str) -> list[int]:
    """How deep each of them is."""
    return [len(signs) for signs in re.findall(r"^(#+) ", prose(page), re.MULTILINE)]


def commands(page: str) -> list[str]:
    """Commands and options that the prose names."""
    return sorted(re.findall(r"`((?:numafit|\./dev|--|sketch:)[^`]*)`", prose(page)))


def test_both_show_the_same_commands_and_outputs() -> None:
    """Letter by letter; that they are true is seen where each shown command is run."""
    assert code_blocks(CHINESE) == code_blocks(ENGLISH)
    assert len(code_blocks(ENGLISH)) > 3


@pytest.mark.parametrize("part", [links, rows, headings, commands], ids=lambda part: part.__name__)
def test_both_are_built_alike(part: object) -> None:
    """The same links, rows, headings and names of commands."""
    assert callable(part)
    assert part(CHINESE) == part(ENGLISH) != []


def test_each_leads_to_the_other() -> None:
    assert "](README.zh.md)" in ENGLISH
    assert "](README.md)" in CHINESE


def test_numbers_are_the_same() -> None:
    """Releases, cases and machines."""
    found = [sorted(re.findall(r"\d+\.\d+(?:\.\d+)?|\d+,\d+", prose(page))) for page in (ENGLISH, CHINESE)]
    assert found[0] == found[1]


def test_the_two_commands_come_first() -> None:
    """Before anything else that could be typed."""
    first, second = code_blocks(ENGLISH)[:2]
    assert first.startswith("```console\n$ ./dev run simulate examples/gpu-box\n")
    assert second == "```console\n$ ./dev test\n```"


def test_the_picture_is_that_of_the_first_command() -> None:
    """It lies among the examples, whose test draws it again and compares."""
    (picture,) = re.findall(r"!\[[^\]]+\]\((\S+)\)", ENGLISH)
    drawn = {EXAMPLES / each.folder / each.golden: each.command for each in listed()}
    assert drawn[ROOT / picture] == ["simulate", ".", "--picture", Path(picture).name]
    assert str(Path(picture).parent) == "examples/gpu-box"
    assert "prefers-color-scheme: dark" in (ROOT / picture).read_text()


def test_the_machine_file_is_what_the_page_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = [block for block in code_blocks(ENGLISH) if block.startswith("```yaml\nformat: numafit/machine/v1\n")]
    file = tmp_path / "my-box.yaml"
    file.write_text("\n".join(block.splitlines()[1:-1]) + "\n")
    assert main(["machine", "show", "--machine", str(file)]) == 0
    name, _, summary = capsys.readouterr().out.splitlines()[0].partition(": ")
    assert name == "my-box"
    assert summary in ENGLISH
    assert summary in CHINESE
