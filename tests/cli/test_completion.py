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


def test_commands_are_completed() -> None:
    """What bash asks for when `numafit si` is typed and the tab key pressed."""
    environment = {**os.environ, "_NUMAFIT_COMPLETE": "bash_complete", "COMP_WORDS": "numafit si", "COMP_CWORD": "1"}
    asked = subprocess.run(
        [sys.executable, "-m", "numafit"], env=environment, capture_output=True, text=True, check=False
    )
    assert asked.stdout.split() == ["plain,simulate"]
