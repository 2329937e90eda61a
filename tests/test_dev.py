"""The script `./dev`: what it takes from the lock file and from pip's configuration, and how it hands over."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
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


@pytest.fixture
def checkout(dev: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One without an environment."""
    monkeypatch.setattr(dev, "ROOT", str(tmp_path))
    monkeypatch.setattr(dev, "VENV", str(tmp_path / ".venv"))
    return tmp_path


def sentence(action: Callable[[], object], capsys: pytest.CaptureFixture[str]) -> str:
    """What it fails with: one line and status 2."""
    with pytest.raises(SystemExit) as stop:
        action()
    (line,) = capsys.readouterr().err.splitlines()
    assert stop.value.code == 2
    return str(line)


def test_a_checkout_that_cannot_be_written_is_one_sentence(
    dev: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is begun; it says whose it is, and what to do."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert sentence(lambda: dev.require_place(fresh=True), capsys) == (
        f"dev: .venv cannot be made, for {checkout} cannot be written: it belongs to user {os.getuid()}. Please clone "
        f"it to a folder of your own (`git clone {checkout}`) and run `./dev` there."
    )
    (checkout / ".venv").mkdir()
    assert sentence(lambda: dev.require_place(fresh=False), capsys) == (
        f"dev: .venv is not up to date, and {checkout}/.venv cannot be written: it belongs to user {os.getuid()}. Let "
        f"its owner run `./dev`, or clone it to a folder of your own (`git clone {checkout}`) and run `./dev` there."
    )


def test_a_full_disk_is_one_sentence(
    dev: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before a set-up, and in the middle of one."""
    monkeypatch.setattr(dev, "ROOM", 1 << 60)
    said = sentence(lambda: dev.require_place(fresh=True), capsys)
    assert said.startswith(f"dev: there is no room for .venv in {checkout} ")
    code = "import sys; sys.stderr.write('ERROR: [Errno 28] No space left on device\\n'); sys.exit(1)"
    assert sentence(lambda: dev.call([sys.executable, "-c", code]), capsys) == said


@pytest.mark.parametrize(
    "trouble",
    [
        "WARNING: Retrying\\nNewConnectionError: [Errno -3] Temporary failure in name resolution\\nERROR: none",
        "error: Request failed after 3 retries\\n  Caused by: client error (Connect)\\n  Caused by: dns error",
    ],
)
def test_no_network_is_one_sentence(
    trouble: str, dev: ModuleType, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the place of what pip and uv say about it."""
    code = f"import sys; sys.stderr.write('{trouble}\\n'); sys.exit(1)"
    assert sentence(lambda: dev.call([sys.executable, "-c", code]), capsys) == (
        "dev: the packages of requirements.lock cannot be fetched: no package index answers. Try again with network, "
        "or name a mirror by PIP_INDEX_URL."
    )


def test_any_other_trouble_is_told_in_the_words_of_the_program(
    dev: ModuleType, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        dev.call([sys.executable, "-c", "import sys; sys.exit('error: something else')"])
    first, second = capsys.readouterr().err.splitlines()
    assert first == "error: something else"
    assert second.endswith("failed with status 1; the lines above say why.")


@pytest.mark.parametrize(("module", "package"), [("venv", "python3-venv"), ("pip", "python3-pip")])
def test_a_python_without_what_the_set_up_needs_is_one_sentence(
    module: str,
    package: str,
    dev: ModuleType,
    checkout: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As in a small Debian."""
    (checkout / f"{module}.py").write_text(f"raise ModuleNotFoundError('{module}')")
    monkeypatch.setenv("PYTHONPATH", str(checkout))
    require = dev.require_venv if module == "venv" else dev.require_pip
    said = sentence(lambda: require(sys.executable), capsys)
    assert f"has no {'module ' * (module == 'venv')}{module}, which the first set-up needs" in said
    assert f"apt install {package}" in said
