"""The process: runs the command line and turns whatever goes wrong into one sentence and an exit status.

0 done; 1 standard output could not be written; 2 bad input or usage; 70 a bug in numafit; 130 interrupted. A command
may end with a status of its own.
"""

import io
import os
import sys

OUTPUT_FAILED = 1
BAD_INPUT = 2
BUG = 70
INTERRUPTED = 130

UNIX_MODULES = frozenset({"fcntl", "grp", "pwd", "resource", "termios"})
"""Those of Python that another system may not have."""


def main(arguments: list[str] | None = None) -> int:
    """`arguments` are those of the process when None. A command chooses its exit status by returning it."""
    return _ended("numafit", arguments)


def kubectl(arguments: list[str] | None = None) -> int:
    """`kubectl numafit`: kubectl starts the program `kubectl-numafit`, whose commands are those of `numafit fleet`."""
    return _ended("kubectl numafit", arguments)


def _ended(name: str, arguments: list[str] | None) -> int:
    _open_streams()
    try:
        words = sys.argv[1:] if arguments is None else arguments
        quick = name == "numafit" and words[:1] == ["run"]
        status = _run_quickly(words, own=arguments is None) if quick else _run(name, words)
        # Flushed here and not at interpreter exit, where a failure could only be complained about.
        sys.stdout.flush()
    except KeyboardInterrupt:
        # Behind the ^C that the terminal shows.
        print(file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return OUTPUT_FAILED
    except Exception as error:
        return _told(error)
    return status


def _run(name: str, words: list[str]) -> int:
    # A job starts quicker without click, and `numafit --help` loads no command.
    from numafit.cli.start import quickly

    with quickly():
        from numafit.cli.commands import numafit, run_group

        group = numafit
        if name != "numafit":
            from numafit.cli.fleet.group import fleet

            group = fleet
    return run_group(group, name, words)


def _run_quickly(words: list[str], *, own: bool) -> int:
    """`own`: the process has nothing else to do."""
    from numafit.cli.bundle import own_bundle

    bundle = own_bundle() if own else None
    if bundle is not None:
        bundle.use()
    from numafit.cli.start import load_base, quickly

    with quickly():
        load_base(database=True)
        from numafit.cli.quick import quick_job

        job = quick_job(words[1:])
        status = None if job is None else job()
    if status is None:
        return _run("numafit", words)
    if own:
        sys.stdout.flush()
        sys.stderr.flush()
        if bundle is not None:
            bundle.keep()
        # To take apart what was loaded takes longer than the work.
        os._exit(status)
    return status


def _told(error: Exception) -> int:
    from numafit.errors import NeedsLinuxError, NumafitError

    if isinstance(error, NumafitError):
        _say(str(error))
        return BAD_INPUT
    if isinstance(error, OSError) and error.filename:
        # Writers report their files themselves: a named file is one that could not be read.
        _say(f"{os.fsdecode(error.filename)}: {error.strerror}")
        return BAD_INPUT
    if isinstance(error, OSError):
        _drop_output()
        _say(str(error.strerror or error))
        return OUTPUT_FAILED
    if isinstance(error, ModuleNotFoundError) and error.name in UNIX_MODULES:
        _say(str(NeedsLinuxError("this command")))
        return BAD_INPUT
    if os.environ.get("NUMAFIT_DEBUG"):
        raise error
    _say(f"this is a bug in numafit: {type(error).__name__}: {error} (NUMAFIT_DEBUG=1 shows the traceback)")
    return BUG


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
