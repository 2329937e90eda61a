"""`python -m tests.elsewhere ARGS...`: numafit as on a system that is not Linux.

Modules and functions that only Linux or Unix has are taken away before numafit is imported, and /sys, /proc and /dev
cannot be opened. `sys.platform` names no system at all, so that Python's own library does not look for one's modules.
"""

import asyncio
import concurrent.futures.process
import multiprocessing
import multiprocessing.connection
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from typing import Any

import click._termui_impl

MODULES = ("crypt", "fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
FUNCTIONS = (
    *("chown", "chroot", "fchmod", "fchown", "fork", "getegid", "geteuid", "getgid", "getgroups", "getpgid", "getsid"),
    *("getuid", "killpg", "lchown", "mkfifo", "pidfd_open", "sched_getaffinity", "sched_setaffinity", "setsid"),
    *("statvfs", "uname", "wait3", "waitid", "O_CLOEXEC", "O_NONBLOCK"),
)
SIGNALS = ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGTSTP", "pthread_sigmask")
FOLDERS = ("/sys/", "/proc/", "/dev/", "/var/lib/kubelet")
WITH_WAYS_OF_THEIR_OWN = (
    *(asyncio, click._termui_impl, concurrent.futures.process, multiprocessing.connection, subprocess, tempfile),
)
"""Imported before anything is taken away: on such a system they take other modules."""


def forget(module: Any, names: tuple[str, ...]) -> None:
    """`Any`: a module."""
    for name in names:
        if hasattr(module, name):
            delattr(module, name)


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(FOLDERS):
        raise FileNotFoundError(2, "No such file or directory", str(arguments[0]))


def main(arguments: list[str]) -> int:
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    multiprocessing.set_start_method("spawn")
    forget(os, FUNCTIONS)
    forget(signal, SIGNALS)
    forget(select, ("epoll", "poll"))
    forget(socket, ("AF_UNIX", "SO_PEERCRED"))
    sys.platform = "elsewhere"
    sys.addaudithook(refuse)
    from numafit.__main__ import main as numafit

    return numafit(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
