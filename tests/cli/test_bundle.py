"""All modules of a start in one file: the same modules, and never an old one."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

USE = """
import sys
sys.path.append(sys.argv[2])
from numafit.cli.bundle import ModuleBundle
bundle = ModuleBundle(sys.argv[1])
bundle.use()
import house.room
bundle.keep()
import json, os
print(json.dumps({
    "value": house.room.VALUE,
    "loaders": [type(module.__loader__).__name__ for module in (house, house.room)],
    "file": house.room.__file__,
    "path": list(house.__path__),
    "data": __import__("pkgutil").get_data("house", "data.txt").decode(),
}))
"""
PLAIN, BUNDLED = ["SourceFileLoader"] * 2, ["_Loader"] * 2


@pytest.fixture
def house(tmp_path: Path) -> Path:
    folder = tmp_path / "house"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "data.txt").write_text("data")
    (folder / "room.py").write_text("VALUE = 1\n")
    return folder


def loaded(house: Path, **changes: str) -> Mapping[str, object]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment.pop("PYTHONPATH", None)
    line = [sys.executable, "-c", USE, str(house.parent / "bundle"), str(house.parent)]
    done = subprocess.run(line, env={**environment, **changes}, capture_output=True, check=True)
    found: Mapping[str, object] = json.loads(done.stdout)
    return found


def expected(house: Path, loaders: list[str], value: int = 1) -> Mapping[str, object]:
    file = str(house / "room.py")
    return {"value": value, "loaders": loaders, "file": file, "path": [str(house)], "data": "data"}


def test_the_second_start_finds_everything_in_one_file(house: Path) -> None:
    """Modules are what they would be: their files, the files beside them."""
    assert loaded(house) == expected(house, PLAIN)
    assert loaded(house) == expected(house, BUNDLED)


def test_a_module_whose_source_was_changed_is_loaded_from_its_source(house: Path) -> None:
    """As with compiled modules, time and size decide; the next start has the new one."""
    loaded(house)
    (house / "room.py").write_text("VALUE = 20\n")
    assert loaded(house) == expected(house, ["_Loader", "SourceFileLoader"], 20)
    assert loaded(house) == expected(house, BUNDLED, 20)


@pytest.mark.parametrize("damage", [b"", b"x", b"\xff" * 8, b"\5\0\0\0\0\0\0\0hello"])
def test_a_damaged_file_is_none_and_is_made_anew(house: Path, damage: bytes) -> None:
    loaded(house)
    (house.parent / "bundle").write_bytes(damage)
    assert loaded(house) == expected(house, PLAIN)
    assert loaded(house) == expected(house, BUNDLED)


def test_who_searches_elsewhere_neither_uses_nor_changes_it(house: Path, tmp_path: Path) -> None:
    """Another module of the same name could come first there."""
    loaded(house)
    before = (house.parent / "bundle").read_bytes()
    assert loaded(house, PYTHONPATH=str(tmp_path / "first")) == expected(house, PLAIN)
    assert (house.parent / "bundle").read_bytes() == before


def test_who_wants_no_compiled_files_gets_none(house: Path) -> None:
    assert loaded(house, PYTHONDONTWRITEBYTECODE="1") == expected(house, PLAIN)
    assert not (house.parent / "bundle").exists()


def test_a_folder_that_may_not_be_written_is_no_trouble(house: Path) -> None:
    (house.parent / "bundle").mkdir()
    assert loaded(house) == expected(house, PLAIN)
    assert sorted(os.listdir(house.parent)) == ["bundle", "house"]
