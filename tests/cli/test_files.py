"""Files that appear whole or not at all."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from numafit.cli.files import WholeFile, write_whole
from numafit.cli.terminal import tidy_end
from numafit.errors import InputError


def test_what_was_there_stays_until_the_file_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "result"
    path.write_text("old")
    with WholeFile(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
        file.commit()
    assert path.read_text() == "new"


def test_a_file_that_is_not_committed_leaves_nothing(tmp_path: Path) -> None:
    with WholeFile(tmp_path / "result") as file:
        file.write(b"new")
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_and_the_file_behind_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("result")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "result").read_bytes() == b"new"


def test_links_in_a_circle_are_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(tmp_path / "link", b"new")


def test_a_name_as_long_as_names_may_be_can_be_written(tmp_path: Path) -> None:
    """255 bytes; the temporary file has a short name of its own."""
    write_whole(tmp_path / ("a" * 255), b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a" * 255]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    """Like `/dev/null`: replacing it would take it away from everybody else."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(path, b"new")
        assert os.read(reading, 10) == b"new"
    finally:
        os.close(reading)
    assert path.is_fifo()


def test_a_descriptor_is_written_to() -> None:
    """`--out >(gzip > results.gz)` names one; the link behind it leads to no path."""
    reading, writing = os.pipe()
    try:
        with WholeFile(Path(f"/dev/fd/{writing}")) as file:
            file.write(b"new")
            file.commit()
        assert os.read(reading, 10) == b"new"
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_long_work_leaves_no_file(number: signal.Signals, tmp_path: Path) -> None:
    """The status is that of a process which the signal ended."""
    code = (
        "import sys, time; from pathlib import Path\n"
        "from numafit.cli.files import WholeFile; from numafit.cli.terminal import tidy_end\n"
        "with tidy_end(), WholeFile(Path(sys.argv[1])): print(flush=True); time.sleep(30)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "result")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(20) == 128 + number
    assert list(tmp_path.iterdir()) == []


def test_signals_are_as_before_when_the_work_is_done() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with tidy_end():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
