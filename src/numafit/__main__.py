"""The process: runs the command line and turns whatever goes wrong into one sentence and an exit status.

0 done; 1 standard output could not be written; 2 bad input or usage; 70 a bug in numafit; 130 interrupted. A command
may end with a status of its own.
"""

import io
import os
import sys
from collections.abc import Callable

try:
    from numafit.cli.start import load_msgspec, quickly
    from numafit.errors import NeedsLinuxError, NumafitError
except KeyboardInterrupt:
    # Before `main`, which would give this status, too.
    sys.exit(130)

OUTPUT_FAILED = 1
BAD_INPUT = 2
BUG = 70
INTERRUPTED = 130

UNIX_MODULES = frozenset({"fcntl", "grp", "pwd", "resource", "termios"})
"""Those of Python that another system may not have."""


def main(arguments: list[str] | None = None) -> int:
    """`arguments` are those of the process when None. A command chooses its exit status by returning it."""
    words = sys.argv[1:] if arguments is None else arguments
    return _ended(lambda: _run_quickly(words, own=arguments is None) if words[:1] == ["run"] else _run(words))


def kubectl(arguments: list[str] | None = None) -> int:
    """`kubectl numafit`: kubectl starts the program `kubectl-numafit`, whose commands are those of `numafit fleet`."""

    def run() -> int:
        with quickly():
            load_msgspec()
            # Not at the top: `numafit --help` loads no command.
            from numafit.cli.commands import run_group
            from numafit.cli.fleet.group import fleet
        return run_group(fleet, "kubectl numafit", arguments)

    return _ended(run)


def _run(words: list[str]) -> int:
    with quickly():
        # A job starts quicker without click.
        from numafit.cli.commands import numafit, run_group
    return run_group(numafit, "numafit", words)


def _run_quickly(words: list[str], *, own: bool) -> int:
    """`own`: the process has nothing else to do."""
    with quickly():
        load_msgspec()
        from numafit.cli.quick import quick_job

        job = quick_job(words[1:])
        status = None if job is None else job()
    if status is None:
        return _run(words)
    if own:
        sys.stdout.flush()
        sys.stderr.flush()
        # To take apart what was loaded takes longer than the work.
        os._exit(status)
    return status


def _ended(run: Callable[[], int]) -> int:
    _open_streams()
    try:
        status = run()
        # Flushed here and not at interpreter exit, where a failure could only be complained about.
        sys.stdout.flush()
    except KeyboardInterrupt:
        # Behind the ^C that the terminal shows.
        print(file=sys.stderr)
        return INTERRUPTED
    except NumafitError as error:
        _say(str(error))
        return BAD_INPUT
    except BrokenPipeError:
        _drop_output()
        return OUTPUT_FAILED
    except OSError as error:
        if error.filename:
            # Writers report their files themselves: a named file is one that could not be read.
            _say(f"{os.fsdecode(error.filename)}: {error.strerror}")
            return BAD_INPUT
        _drop_output()
        _say(str(error.strerror or error))
        return OUTPUT_FAILED
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name in UNIX_MODULES:
            _say(str(NeedsLinuxError("this command")))
            return BAD_INPUT
        if os.environ.get("NUMAFIT_DEBUG"):
            raise
        _say(f"this is a bug in numafit: {type(error).__name__}: {error} (NUMAFIT_DEBUG=1 shows the traceback)")
        return BUG
    return status


def _say(message: str) -> None:
    # Only for trouble: a command starts quicker without.
    from numafit.cli.warning import warn

    warn(message)


def _open_streams() -> None:
    """A stream that the caller closed (`>&-`) is None in Python; nowhere takes its place, descriptor by descriptor."""
    sys.stdin = sys.stdin or os.fdopen(os.open(os.devnull, os.O_RDONLY))
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.FileIO) and raw.fileno() == 1:
        # PYTHONUNBUFFERED: what one write leaves over, on a disk that gets full or beyond 2 GiB, would be lost.
        encoding, errors = sys.stdout.encoding, sys.stdout.errors
        sys.stdout = os.fdopen(1, "w", encoding=encoding, errors=errors, closefd=False)


def _drop_output() -> None:
    """Point standard output nowhere, so that the flush at interpreter exit cannot fail a second time."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
