"""Shell completion: the script, and what it asks numafit for."""

import os
import subprocess
import sys

import pytest

from numafit.__main__ import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert f"_NUMAFIT_COMPLETE={shell}_complete" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("numafit si", ["plain,simulate"]),
        ("numafit simulate --kubelet-e", ["plain,--kubelet-env"]),
        ("numafit simulate --machine gpu8", ["plain,gpu8-128cpu"]),
        ("numafit machine show --machine dgx-", ["plain,dgx-a100", "plain,dgx-h100"]),
        ("numafit machine show --machine box.y", ["file,box.y"]),
    ],
)
def test_bash_is_offered_what_may_follow(typed: str, offered: list[str]) -> None:
    """What it asks for when the tab key is pressed. For `file` it completes the names of files by itself."""
    last = str(len(typed.split()) - 1)
    environment = {**os.environ, "_NUMAFIT_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": last}
    asked = subprocess.run(
        [sys.executable, "-m", "numafit"], env=environment, capture_output=True, text=True, check=False
    )
    assert asked.stdout.split() == offered
