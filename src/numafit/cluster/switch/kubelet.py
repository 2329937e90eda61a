"""The kubelet's process on this node: stopped and started by commands, and looked for by the file that it was given."""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from numafit.errors import InputError

COMMAND_SECONDS = 120.0
"""A command that takes longer hangs: systemd kills a service after 90 seconds."""
STOP_SECONDS = 30.0
"""For a process to end after the command that stops it has."""
PAUSE = 0.1
LONGEST_OUTPUT = 2000


class KubeletProcess:
    def __init__(self, config: Path, stop_command: str, start_command: str, proc: Path = Path("/proc")) -> None:
        self.config, self.stop_command, self.start_command = config, stop_command, start_command
        self.proc = proc

    async def stop(self, *, watched: bool) -> str:
        """`watched`: its process could be found, so it can be seen that it is gone."""
        await _run(self.stop_command, "--stop-command")
        for _ in range(int(STOP_SECONDS / PAUSE) if watched else 1):
            if not watched or self.number() is None:
                # Heartbeats have whole seconds: those of the next kubelet are to be told from the last of this one.
                await asyncio.sleep(1.0 - time.time() % 1.0)
                return self.stop_command
            await asyncio.sleep(PAUSE)
        cure = "does this command stop the kubelet, or does somebody start it again?"
        raise InputError(f"the kubelet runs on as process {self.number()}", source="--stop-command", cure=cure)

    async def start(self) -> str:
        await _run(self.start_command, "--start-command")
        return self.start_command

    def number(self) -> int | None:
        """Its process id; None where it does not run, or its command does not name the file."""
        return next(self._numbers(), None)

    def option(self, name: str) -> str:
        """What the command of the process that runs gives for it, such as `--config-dir`; empty for nothing."""
        number = self.number()
        if number is None:
            return ""
        try:
            words = [os.fsdecode(word) for word in (self.proc / str(number) / "cmdline").read_bytes().split(b"\0")]
        except OSError:
            return ""
        for index, word in enumerate(words[:-1]):
            if word.startswith(f"{name}="):
                return word.partition("=")[2]
            if word == name:
                return words[index + 1]
        return ""

    def _numbers(self) -> Iterator[int]:
        names = {str(self.config), str(self.config.resolve())}
        for entry in self.proc.iterdir():
            if not entry.name.isdecimal():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            program = os.fsdecode(words[0]).rpartition("/")[2]
            # Wrappers of it (nsenter, systemd-run) name the file, too, and are none.
            if program in ("kubelet", "hyperkube") and names & set(_values(words[1:])):
                yield int(entry.name)


def _values(words: list[bytes]) -> Iterator[str]:
    for word in words:
        text = os.fsdecode(word)
        yield text.partition("=")[2] if text.startswith("--config=") else text


async def _run(command: str, option: str) -> None:
    """By the shell. What it prints is told where it fails: it goes to a file, since a kubelet that it leaves behind
    keeps its output open."""
    with tempfile.TemporaryFile() as output:
        process = await asyncio.create_subprocess_shell(
            command, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=asyncio.subprocess.STDOUT
        )
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            why = f"`{command}` does not end within {COMMAND_SECONDS:g} s"
            raise InputError(why, source=option, cure="does it wait for something?") from None
        if not process.returncode:
            return
        output.seek(0)
        said = " ".join(output.read().decode(errors="replace").split())[-LONGEST_OUTPUT:]
    why = f"`{command}` ended with status {process.returncode}" + (f": {said}" if said else "")
    raise InputError(why, source=option, cure="try it by hand")
