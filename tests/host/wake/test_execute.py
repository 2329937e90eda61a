"""Becoming a command: which errors mean what. What happens when it works is met in the tests of `supervise`."""

import errno
import os
from pathlib import Path

import pytest

from numafit.host.wake.execute import execute, failure


@pytest.mark.parametrize(
    ("command", "code", "expected"),
    [
        ("x", errno.ENOENT, (127, "x: command not found")),
        ("./x", errno.ENOENT, (127, "./x: no such file")),
        ("/etc/passwd/x", errno.ENOTDIR, (127, "/etc/passwd/x: no such file")),
        ("x", errno.EACCES, (126, "x: Permission denied")),
        ("x", errno.E2BIG, (126, "x: Argument list too long")),
    ],
)
def test_a_failure_has_the_status_that_shells_give(command: str, code: int, expected: tuple[int, str]) -> None:
    assert failure(command, code) == expected


def test_a_folder_that_may_not_be_entered_does_not_hide_that_a_command_is_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """exec says "permission denied" then; shells say "not found"."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "execvpe", refuse)
    environment = {"PATH": str(tmp_path)}
    assert execute(["tool"], environment).errno == errno.ENOENT
    (tmp_path / "tool").write_text("")
    assert execute(["tool"], environment).errno == errno.EACCES


def test_a_word_with_a_nul_byte_is_refused() -> None:
    assert execute(["true", "a\0b"], {"PATH": "/usr/bin:/bin"}).errno == errno.EINVAL
