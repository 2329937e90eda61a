"""The rules of the house: who may import whom, what the core may not know, and what a start may not load."""

import ast
import doctest
import inspect
import io
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType

import pytest

from numafit.__main__ import main
from numafit.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "numafit"
IMPORTED_AS = {"grpcio": "grpc", "protobuf": "google", "pyyaml": "yaml"}
CORE = ("golang", "machine", "settings", "workload", "ledger", "managers", "decision", "replay", "advice", "fleet")
IMPURE = {
    "asyncio",
    "datetime",
    "http",
    "logging",
    "random",
    "secrets",
    "select",
    "selectors",
    "socket",
    "ssl",
    "subprocess",
    "threading",
    "time",
    "urllib",
}
BY_NAME = {"importlib", "pkgutil", "runpy", "__import__"}
"""What loads a module whose name a reader of the imports does not see."""
EXTRAS = {
    "cryptography",
    "google",
    "grpc",
    "httpx",
    "httpx2",
    "lightkube",
    "prometheus_client",
    "pynvml",
    "starlette",
    "uvicorn",
}
LARGEST_MODULE = 400
WAY = ROOT / "docs" / "house.md"
SIMULATE = ["simulate", str(ROOT / "examples" / "small-node")]
MOST_CROSSED = 115
MOST_RUN = 98
"""Modules on one pod's way, and those of them in which a function runs; docs/house.md tells the numbers, too."""
IN_FUNCTIONS = {
    "__main__.py": "a job needs no click, --help no job, and only trouble is told: 2 to 30 ms",
    "cli/agent/serve.py": "starlette and uvicorn are an extra; one of four sources: 65 to 190 ms",
    "cli/cluster/extender.py": "an extra, which --help does without: 200 ms",
    "cli/files.py": "only writing needs tempfile: 4 ms",
    "cli/fleet/doctor.py": "an extra, which --help does without: 180 ms",
    "cli/fleet/explain.py": "an extra, which --help does without: 180 ms",
    "cli/fleet/node.py": "an extra, which --help does without: 180 ms",
    "cli/fleet/sources.py": "an extra, which files do without: 180 ms",
    "cli/fleet/view.py": "an extra, which --help does without: 180 ms",
    "cli/host/docker/run.py": "only --dry-run plans: 3 ms",
    "cli/host/leases.py": "--agent, --picture and --write-state, and those that wait: 2 to 30 ms",
    "cli/host/plan.py": "no ledger for another machine, Docker's words only for its line: 7 ms",
    "cli/host/rank.py": "many ranks start at once, in a lease that says what the machine has: 3 ms",
    "cli/cluster/guard.py": "what only a cluster needs is an extra, which --help does without: 200 ms",
    "cli/host/run.py": "only --dry-run and --print plan: 26 ms",
    "cli/host/waiting.py": "most jobs do not wait: 11 ms",
    "cli/kubelet/explain.py": "pods need no log, no events and, as text, no records: 9 to 12 ms",
    "cli/kubelet/simulate.py": "--picture, --write-state and --record: 2 to 30 ms",
    "cli/machine/show.py": "one of five formats: 1 to 30 ms",
    "cli/node/kubelet_sim.py": "what only a cluster needs is an extra, and --rights needs none of it: 200 ms",
    "cli/node/device_plugin.py": "grpcio is an extra, and --dry-run needs none of it: 90 ms",
    "cli/cluster/place.py": "lightkube is an extra, which --help does without: 200 ms",
    "cli/node/node_agent.py": "grpcio and lightkube are an extra, which --help does without: 200 ms",
    "cli/node/over_agent.py": "an extra, for --over-agent only: 200 ms",
    "cli/node/switch.py": "an extra, which --help does without: 180 ms",
    "cli/bundle.py": "what it loads itself is loaded one by one: 1 ms",
    "cli/start.py": "msgspec, which is loaded in a way of its own: 10 ms",
    "cli/warning.py": "most lines need nothing of click: 14 ms",
    "cli/options/answer.py": "only a kubelet that does not start again: 20 ms",
    "cli/options/case.py": "only a node that was pulled: 8 ms",
    "cli/options/claims.py": "only pods with resource claims: 7 ms",
    "cli/options/facts.py": "only a Node object: 5 ms",
    "cli/options/live.py": "an extra, for --node only: 180 ms",
    "cli/options/agent.py": "only --agent asks over HTTP: 20 ms",
    "cli/options/machine.py": "one kind of source: 1 to 10 ms each",
    "cli/options/node.py": "only a Node object: 5 ms",
    "cli/options/published.py": "only a node that its agent publishes: 20 ms",
    "cli/options/stage.py": "a start that is refused, a Node object, pods of this host: 5 to 7 ms",
    "decision/simulation.py": "only other events than pods that come: 9 ms",
    "decision/history/restart.py": "writers of state files, for a restart only: 9 ms",
    "decision/notes.py": "a machine with guesses, decisions by chance: 1 to 3 ms",
    "decision/stage.py": "writers of state files, for a restart only: 9 ms",
    "document.py": "yaml 14 ms, json 2 ms: one of both",
    "errors.py": "only a word that nobody knows: 3 ms",
    "host/bind/mempolicy.py": "ctypes is missing in some Pythons: 2 ms",
    "host/bind/systemd.py": "only a host with systemd needs shutil: 3 ms",
    "host/book/line.py": "few come while others wait, and they need the rule of the queue: 80 ms",
    "host/book/book.py": "only a ledger that was lost is made anew, and shared work needs no engine: 70 ms",
    "host/book/rebuild.py": "only where Docker is: 25 ms",
    "host/book/work.py": "only where Docker is: 21 ms",
    "host/grant.py": "only a refusal is told: 4 ms",
    "host/session.py": "only where Docker is, a host file, and a ledger that may not be written: 4 to 21 ms",
    "host/run/ending.py": "only where Docker is: 21 ms",
    "host/run/launcher.py": "nearly no command names a launcher: 8 to 15 ms",
    "host/this_machine.py": "only where NVIDIA's driver is: 2 ms",
    "machine/read/sysfs/archive.py": "zlib only where a tree is packed: a job reads the live one, 0.4 ms",
    "machine/read/recognise.py": "one reader of many: 1 to 6 ms each",
    "managers/cpu/assignment.py": "old releases and one policy option: 2 ms",
    "managers/cpu/start.py": "readers of state files: 8 ms",
    "managers/device/start.py": "readers of state files: 8 ms",
    "managers/memory/start.py": "readers of state files: 8 ms",
    "managers/topology/merge.py": "only machines with many NUMA nodes: 6 ms",
    "replay/outcomes.py": "writers of state files: 9 ms",
    "service/workers/scene.py": "only what a person wrote as YAML: 13 ms",
    "show/json.py": "only -o yaml: 13 ms",
    "show/text/advice.py": "only --patch: 13 ms",
    "show/text/simulation.py": "only a rejection needs a story: 7 ms",
    "workload/manifest.py": "only a misspelt field: 1 ms",
}
"""Modules that import inside functions, and what a command saves by it in CPU time; see `./dev bench process`."""


def core_modules() -> list[Path]:
    """The rooms of the pure core and the modules that lie under all rooms."""
    rooms = [path for room in CORE for path in sorted((PACKAGE / room).rglob("*.py"))]
    return rooms + [path for path in sorted(PACKAGE.glob("*.py")) if path.name != "__main__.py"]


def imported_names(source: str) -> Iterator[str]:
    """The first part of each name that is imported, wherever in the module the import stands, and `__import__`.

    Reading files of the package by `importlib.resources` loads no module.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "importlib.resources":
            continue
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Name) and node.id == "__import__":
            yield node.id


def has_import_inside(source: str) -> bool:
    """Whether a function of it imports."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds))
    return any(isinstance(node, ast.Import | ast.ImportFrom) for one in functions for node in ast.walk(one))


def packages() -> list[Path]:
    return sorted(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)


def parts_of(folder: Path) -> set[str]:
    """Its modules and folders."""
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    return modules | {path.parent.name for path in folder.glob("*/__init__.py")}


def named_classes() -> Iterator[tuple[str, str]]:
    """(name, module) of each public class and type alias of the house."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for statement in ast.parse(path.read_text()).body:
            name = ""
            if isinstance(statement, ast.ClassDef):
                name = statement.name
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                name = statement.targets[0].id
            is_class = name[:1].isupper() and not name.isupper() and len(name) > 1
            if is_class:
                yield name, str(path.relative_to(PACKAGE))


def loaded_by(code: str) -> set[str]:
    """The top-level modules in memory after `code` ran in a process of its own."""
    report = "import sys\nprint(*{name.partition('.')[0] for name in sys.modules}, file=sys.__stderr__)"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_a_module_imports_only_from_rooms_above_its_own() -> None:
    """The contracts in pyproject.toml hold; each room is named in them."""
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_modules_of_a_package_have_an_order() -> None:
    """A package of several has its layers in pyproject.toml, in which each of them is named."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    ordered = {container for contract in contracts for container in contract.get("containers", ())}
    several = {".".join(folder.relative_to(PACKAGE.parent).parts) for folder in packages() if len(parts_of(folder)) > 1}
    assert several - ordered == set()


@pytest.mark.parametrize("path", core_modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_core_knows_no_clock_network_logging_or_randomness(path: Path) -> None:
    """The core takes values and returns values; also an import inside a function counts."""
    assert set(imported_names(path.read_text())) & (IMPURE | EXTRAS | BY_NAME) == set()


def test_an_import_inside_a_function_or_by_name_is_seen() -> None:
    """The walk behind the rule above looks into functions, at dotted names and at imports of a name in a text."""
    source = "def f():\n    import os.path\n    from importlib import import_module\n    __import__('time')"
    assert list(imported_names(source)) == ["os", "importlib", "__import__"]


def test_imports_stand_at_the_top() -> None:
    """One inside a function has a reason and a measurement, and no reason stands there for nothing."""
    inside = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if has_import_inside(path.read_text())}
    assert inside == IN_FUNCTIONS.keys()


@pytest.mark.parametrize("folder", packages(), ids=lambda folder: str(folder.relative_to(PACKAGE)))
def test_a_package_opens_with_a_page(folder: Path) -> None:
    """Five to thirty lines: what lives here, in which order to read it, what may call what."""
    page = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    assert 5 <= len(page.splitlines()) <= 30


@pytest.mark.parametrize("folder", packages(), ids=lambda folder: str(folder.relative_to(PACKAGE)))
def test_the_page_of_a_package_names_each_part_of_it(folder: Path) -> None:
    """A newcomer finds each module and folder on the page."""
    page = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    assert {part for part in parts_of(folder) if not re.search(rf"\b{part}\b", page)} == set()


def test_one_word_is_one_thing() -> None:
    """No two classes of one name; a private one belongs to its module alone."""
    places: dict[str, list[str]] = {}
    for name, module in named_classes():
        places.setdefault(name, []).append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_stays_short(path: Path) -> None:
    """At 400 lines there are two modules in it."""
    lines = path.read_bytes().count(b"\n")
    assert lines <= LARGEST_MODULE


def test_help_loads_no_command_and_no_extra() -> None:
    """`numafit --help` prints the table; commands are imported when they are called."""
    code = (
        "import sys\nfrom numafit.__main__ import main\nassert main(['--help']) == 0\n"
        "loaded = {name for name in sys.modules if name.startswith('numafit.cli.')}\n"
        "assert loaded == {'numafit.cli.commands', 'numafit.cli.start'}, loaded"
    )
    assert loaded_by(code) & (EXTRAS | {"yaml", "msgspec"}) == set()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_is_imported_without_extras(name: str) -> None:
    """No command pays for what only a part of it needs, nor for an extra that may be missing."""
    module = COMMANDS[name].target.partition(":")[0]
    assert loaded_by(f"import {module}") & EXTRAS == set()


def test_every_package_that_is_imported_is_a_dependency_of_its_own() -> None:
    """One that only comes along with another may go with its next release."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    named = {IMPORTED_AS.get(name, name) for name in (re.split(r"[<>=\[]", each)[0] for each in wanted)}
    imported = {name for path in PACKAGE.rglob("*.py") for name in imported_names(path.read_text())}
    assert imported - sys.stdlib_module_names - {"numafit"} <= {name.replace("-", "_") for name in named}


def test_the_lock_file_names_no_host() -> None:
    """No package index belongs in a commit."""
    assert "://" not in (ROOT / "requirements.lock").read_text()


def test_dev_help_needs_no_environment(tmp_path: Path) -> None:
    """`./dev help` answers before anything is set up."""
    script = tmp_path / "dev"
    script.write_text((ROOT / "dev").read_text())
    done = subprocess.run([sys.executable, str(script), "help"], capture_output=True, text=True, check=True)
    assert "./dev test" in done.stdout
    assert os.listdir(tmp_path) == ["dev"]


def modules_crossed(arguments: list[str]) -> dict[str, bool]:
    """The modules in which code runs during a command, and whether a function does; importing a module is not running
    it, making its classes is."""
    crossed: dict[str, bool] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(str(PACKAGE)):
            name = str(Path(code.co_filename).relative_to(PACKAGE))
            crossed[name] = crossed.get(name, False) or bool(code.co_flags & inspect.CO_OPTIMIZED)

    sys.setprofile(note)
    try:
        with redirect_stdout(io.StringIO()):
            main(arguments)
    finally:
        sys.setprofile(None)
    return crossed


def test_one_pods_way_crosses_no_more_modules_than_the_page_says() -> None:
    """In a process of its own: what is loaded already makes no classes."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.test_house", *SIMULATE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    crossed = done.stdout.splitlines()
    run = [line for line in crossed if not line.endswith("*")]
    assert f"{MOST_CROSSED} now" in WAY.read_text()
    assert f"are {MOST_RUN}." in WAY.read_text()
    assert (len(crossed) <= MOST_CROSSED, len(run) <= MOST_RUN) == (True, True), crossed


def paragraphs() -> list[str]:
    """Those of the page about one pod's way, without its blocks of code."""
    text = re.sub(r"^```.*?^```$", "", WAY.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [part for part in text.split("\n\n") if "`" in part]


def defined_in(path: Path) -> set[str]:
    """Functions, methods, classes and constants of a module."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize("text", paragraphs(), ids=lambda text: text[:40])
def test_what_one_pods_way_names_exists(text: str) -> None:
    """Each file, and each name in one of the files of its paragraph."""
    quoted = re.findall(r"`([^`]+)`", text)
    files = [PACKAGE / name if (PACKAGE / name).exists() else ROOT / name for name in quoted if name.endswith(".py")]
    assert [path for path in files if not path.exists()] == []
    names = {name for name in quoted if name.isidentifier() and files}
    assert names - {name for path in files for name in defined_in(path)} == set()


def test_the_values_on_one_pods_way_are_those_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = "\n".join("" if line.startswith("```") else line for line in WAY.read_text().splitlines())
    shown = doctest.DocTestParser().get_doctest(text, {}, WAY.name, str(WAY), 0)
    said: list[str] = []
    result = doctest.DocTestRunner().run(shown, out=said.append)
    assert result.attempted > 30
    assert result.failed == 0, "".join(said)


if __name__ == "__main__":
    for module, runs in sorted(modules_crossed(sys.argv[1:]).items()):
        print(module if runs else f"{module} *")
