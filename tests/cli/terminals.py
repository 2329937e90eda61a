"""numafit on a terminal of so many columns: what a person would see."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "NUMAFIT_DEBUG")


def seen(
    arguments: Sequence[str], columns: int, variables: Mapping[str, str] | None = None, *, errors: bool = False
) -> str:
    """What it writes to standard output, or standard error, which is the terminal; colours stay as they come."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    environment |= {"TERM": "xterm", **(variables or {})}
    line = [sys.executable, "-m", "numafit", *arguments]
    out, err = (subprocess.DEVNULL, theirs) if errors else (theirs, subprocess.DEVNULL)
    child = subprocess.Popen(line, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
    os.close(theirs)
    data = bytearray()
    try:
        while piece := os.read(ours, 1 << 16):
            data += piece
    except OSError:
        pass  # Linux says so when the last writer is gone.
    finally:
        os.close(ours)
        child.wait()
    return data.decode().replace("\r\n", "\n")
