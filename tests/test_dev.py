"""The script `./dev`: what it takes from the lock file and from pip's configuration, and how it hands over."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

PIN = "uv==1.2 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n    # via numafit\n"
LOCK = "uuid==2 \\\n    --hash=sha256:00\n" + PIN + "x==1\n"


@pytest.fixture
def dev() -> ModuleType:
    loader = SourceFileLoader("dev", str(Path(__file__).resolve().parents[1] / "dev"))
    spec = spec_from_loader("dev", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_the_pin_of_one_package_comes_with_its_hashes(dev: ModuleType) -> None:
    """The first tool is installed under the same check as all others."""
    assert dev.requirement("uv", LOCK) == PIN


def test_a_lock_file_without_the_package_is_one_sentence(dev: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2 and no traceback."""
    with pytest.raises(SystemExit) as stop:
        dev.requirement("uv", "x==1\n")
    assert stop.value.code == 2
    assert capsys.readouterr().err == "dev: requirements.lock does not pin uv: fetch the file again.\n"


def test_a_program_is_called_by_its_full_path(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python looks for its environment next to the path in its first argument; a bare name finds another one."""
    calls: list[tuple[str, Sequence[str]]] = []
    monkeypatch.setattr(os, "execv", lambda path, arguments: calls.append((path, arguments)))
    dev.replace("python", ["-m", "bench"])
    python = os.path.join(dev.ROOT, ".venv", "bin", "python")
    assert calls == [(python, [python, "-m", "bench"])]


def test_the_index_of_pip_is_handed_on(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """uv does not read pip's settings, but somebody who has set an index means it for all packages."""
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "file:///mirror/simple")
    assert dev.index_environment()["UV_DEFAULT_INDEX"] == "file:///mirror/simple"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "file:///chosen")
    assert dev.index_environment()["UV_DEFAULT_INDEX"] == "file:///chosen"


@pytest.fixture
def tested(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """What `./dev test` becomes, without a set-up."""
    calls: list[Sequence[str]] = []
    monkeypatch.setattr(dev, "prepare", lambda: None)
    monkeypatch.setattr(dev, "provide", lambda: calls.append(["provide"]))
    monkeypatch.setattr(os, "chdir", lambda _: None)
    monkeypatch.setattr(os, "execv", lambda _, arguments: calls.append(arguments[1:]))
    for variable in ("NUMAFIT_ALL", "NUMAFIT_REAL"):
        # Also one that is set in between is gone afterwards.
        monkeypatch.setenv(variable, "")
    return calls


def test_the_tests_on_real_systems_run_on_request_only(dev: ModuleType, tested: list[Sequence[str]]) -> None:
    """Alone, one after the other, and after what they need was installed; a named test is run as it is."""
    dev.test(["-x"])
    assert tested == [["-m", "pytest", "-n", "auto", "-x"]]
    dev.test(["--real", "-x"])
    assert tested[1:] == [["provide"], ["-m", "pytest", "-m", "real", "-x"]]
    assert os.environ["NUMAFIT_REAL"] == "1"
    dev.test(["--real", "tests/vm/test_run.py"])
    assert tested[3:] == [["-m", "pytest", "tests/vm/test_run.py"]]


def test_ctrl_c_ends_a_set_up_without_a_traceback(dev: ModuleType) -> None:
    """Also that of a program which would answer Ctrl-C with one, as pip does, and of its own children."""
    sleeper = (
        "import subprocess, sys; sleep = 'import time; print(1, flush=True); time.sleep(30)'\n"
        "subprocess.run([sys.executable, '-c', sleep])"
    )
    caller = (
        "import sys; from importlib.machinery import SourceFileLoader\n"
        f"dev = SourceFileLoader('dev', {str(Path(dev.ROOT) / 'dev')!r}).load_module()\n"
        f"try: dev.call([sys.executable, '-c', {sleeper!r}])\n"
        "except KeyboardInterrupt: sys.exit(130)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", caller],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    os.killpg(process.pid, signal.SIGINT)
    # Ends only when the sleeping grandchild is gone too: it holds the other ends of these pipes.
    _, error = process.communicate(timeout=20)
    assert (process.returncode, error) == (130, "")
