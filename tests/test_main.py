"""One sentence and an exit status for whatever goes wrong."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from numafit import __main__ as process
from numafit.cli import commands as cli
from numafit.errors import InputError, KubeletError


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Puts a body behind `numafit probe`."""

    def install(body: Callable[[], object]) -> None:
        module = click.Command("probe", callback=body)
        monkeypatch.setattr(process, "probe", module, raising=False)
        monkeypatch.setitem(cli.COMMANDS, "probe", cli.LazyCommand("numafit.__main__:probe", "Tests this."))

    return install


def raising(error: BaseException) -> Callable[[], object]:
    def body() -> object:
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (InputError("no cpu", source="pod.yaml", line=3, column=5), 2, "numafit: pod.yaml:3:5: no cpu\n"),
        (InputError("two\nlines"), 2, "numafit: two lines\n"),
        (KubeletError("no cpus provided"), 2, "numafit: no cpus provided\n"),
        (KeyboardInterrupt(), 130, "\n"),
        (
            click.UsageError("what?"),
            2,
            "Usage: numafit probe [OPTIONS]\nTry 'numafit probe --help' for help.\n\nError: what?\n",
        ),
        (PermissionError(13, "Permission denied", "state"), 2, "numafit: state: Permission denied\n"),
        (OSError(28, "No space left on device"), 1, "numafit: No space left on device\n"),
        (
            KeyError("x"),
            70,
            "numafit: this is a bug in numafit: KeyError: 'x' (NUMAFIT_DEBUG=1 shows the traceback)\n",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_an_error_is_one_sentence_and_an_exit_status(
    command: Callable[[Callable[[], object]], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    status: int,
    text: str,
) -> None:
    """Never a traceback: bad input ends with 2, an interruption with 130, a bug of ours with 70."""
    monkeypatch.delenv("NUMAFIT_DEBUG", raising=False)
    monkeypatch.setattr(process, "_drop_output", lambda: None)
    command(raising(error))
    assert process.main(["probe"]) == status
    assert capsys.readouterr().err == text


def test_a_bug_shows_its_traceback_on_demand(
    command: Callable[[Callable[[], object]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """NUMAFIT_DEBUG lets the exception through."""
    monkeypatch.setenv("NUMAFIT_DEBUG", "1")
    command(raising(KeyError("x")))
    with pytest.raises(KeyError):
        process.main(["probe"])


def test_a_command_chooses_its_exit_status_by_what_it_returns(
    command: Callable[[Callable[[], object]], None],
) -> None:
    """A number is the status; nothing means success."""
    command(lambda: 3)
    assert process.main(["probe"]) == 3
    command(lambda: None)
    assert process.main(["probe"]) == 0


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, with the name that was not understood."""
    assert process.main(["frobnicate"]) == 2
    assert "frobnicate" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["closed pipe", "/dev/full"])
def test_output_that_cannot_be_written_gives_no_traceback(target: str) -> None:
    """A closed pipe is silent, a full disk one sentence; both end with 1."""
    if target == "closed pipe":
        reading, writing = os.pipe()
        os.close(reading)
    elif not os.path.exists(target):
        pytest.skip(f"no {target} here")
    else:
        writing = os.open(target, os.O_WRONLY)
    try:
        run = [sys.executable, "-m", "numafit", "--help"]
        done = subprocess.run(run, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writing)
    expected = "" if target == "closed pipe" else "numafit: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, expected)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_is_cut_off_is_no_success(unbuffered: str, tmp_path: Path) -> None:
    """A file of 1000 bytes at most takes a part of one write; Python without buffers says nothing of the rest."""
    resource = pytest.importorskip("resource")
    with (tmp_path / "out").open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "numafit", "machine", "show", "--machine", "dgx-h100", "-o", "json"],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
        )
    assert (done.returncode, done.stderr) == (1, "numafit: File too large\n")


def test_an_interrupt_while_modules_are_loaded_gives_no_traceback() -> None:
    """Ctrl-C in the first tenth of a second; the line ends behind the terminal's ^C, as it does later."""
    code = """
import runpy, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "numafit.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
runpy.run_module("numafit", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "\n")


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_stream_that_the_caller_closed_is_no_bug(stream: int) -> None:
    """`<&-`, `>&-` and `2>&-`: what would go there goes nowhere, and an empty input is bad input."""
    command = "machine show --machine -" if stream == 0 else "machine list"
    run = f"{shlex.quote(sys.executable)} -m numafit {command} {stream}>&-"
    done = subprocess.run(["sh", "-c", run], capture_output=True, text=True, check=False)
    assert done.returncode == (2 if stream == 0 else 0)
    assert "bug" not in done.stderr


def all_commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        yield (*words, name)
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from all_commands(command, (*words, name))


@pytest.mark.parametrize("words", list(all_commands(cli.numafit)), ids=" ".join)
def test_every_command_has_help_with_examples(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Groups and the commands in them, too."""
    assert process.main([*words, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Examples:" in out
    assert max(map(len, out.splitlines())) <= 100
