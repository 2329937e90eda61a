"""`numafit run` as most people write it, understood without click, which takes as long to load as the rest of a start.

Taken are only words of which it is certain what click makes of them; with any other word, and with whatever is wrong,
the whole line is click's. A test compares the two on lines of all kinds.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from numafit.cli.host.job import run_job
from numafit.cli.options.asked import FOREVER, lease_asked
from numafit.host.bind.target import WAYS
from numafit.host.request import POLICIES, PREFERENCES

COMPLETION = "_NUMAFIT_COMPLETE"
"""By this variable shells ask for completions."""
WAIT = "--wait"

_FLAGS = {
    "--shared": "shared",
    "--strict": "strict",
    "--no-env": "no_env",
    "--omp": "omp",
    "--explain": "explain",
    "-q": "quiet",
    "--quiet": "quiet",
    "--threads": "threads",
    "--like-kubelet": "like_kubelet",
    "--interleave": "interleave",
}
_NUMBERS = {
    "--cpus": ("cpus", 999_999),
    "--gpus": ("gpus", 999_999),
    "--cpus-per-rank": ("cpus_per_rank", 999_999),
    "--cpus-per-gpu": ("cpus_per_gpu", 999_999),
    "--ranks": ("ranks", 4096),
    "--priority": ("priority", 100),
}
"""With the largest that is certainly allowed."""
_TEXTS = {
    "--memory": "memory",
    "--name": "name",
    "--node": "on_nodes",
    "--limit-memory": "limit_memory",
    "--time": "time_limit",
    "--grace": "grace",
    WAIT: "wait",
}
_CHOICES: dict[str, tuple[str, Sequence[str]]] = {
    "--policy": ("policy", POLICIES),
    "--memory-bind": ("memory_bind", WAYS),
}
_LISTS: dict[str, tuple[str, Sequence[str] | None]] = {
    "--device": ("devices", None),
    "--prefer": ("prefer", list(PREFERENCES)),
}
JOB = ("time_limit", "grace", "shared", "strict", "no_env", "omp", "explain", "quiet")


def quick_job(words: Sequence[str]) -> Callable[[], int] | None:
    """Runs the job of the words after `numafit run`; None: click has to read them."""
    if sys.platform != "linux" or COMPLETION in os.environ:
        return None
    found = parameters(words)
    if found is None:
        return None
    command: Sequence[str] = found.pop("command")
    job = {name: found.pop(name) for name in JOB}
    return lambda: run_job(lease_asked(**found), command, **job)


def parameters(words: Sequence[str]) -> dict[str, Any] | None:
    """By the names and with the defaults that click has them; `Any`: as click's are. None: it is not certain."""
    found: dict[str, Any] = {
        **dict.fromkeys(_FLAGS.values(), False),
        **{name: 0 for name, _ in _NUMBERS.values()},
        **dict.fromkeys(_TEXTS.values()),
        **dict.fromkeys((name for name, _ in _LISTS.values()), ()),
        "name": "",
        "policy": "best-effort",
        "memory_bind": None,
        "folder": None,
    }
    rest = list(reversed(words))
    while rest and rest[-1].startswith("-") and rest[-1] != "--":
        option, equals, value = rest.pop().partition("=")
        if option in _FLAGS and not equals:
            found[_FLAGS[option]] = True
            continue
        if option == WAIT and not equals:
            # What follows is its time, unless it is an option.
            if not rest or not _is_option(rest[-1]):
                return None
            found["wait"] = FOREVER
            continue
        if not equals:
            value = rest.pop() if rest else ""
        if not value or value.startswith("-") or not _take(found, option, value):
            return None
    if rest and rest[-1] == "--":
        rest.pop()
    elif rest and not rest[-1]:
        return None
    found["command"] = tuple(reversed(rest))
    return found


def _is_option(word: str) -> bool:
    return word.startswith("-") and len(word) > 1


def _take(found: dict[str, Any], option: str, value: str) -> bool:
    """Whether the option takes such a value."""
    if option in _TEXTS:
        found[_TEXTS[option]] = value
        return True
    if option in _NUMBERS:
        name, most = _NUMBERS[option]
        if not (value.isascii() and value.isdecimal() and len(value) <= len(str(most)) and int(value) <= most):
            return False
        found[name] = int(value)
        return True
    if option in _CHOICES:
        name, known = _CHOICES[option]
        found[name] = value
        return value in known
    if option in _LISTS:
        name, words = _LISTS[option]
        found[name] += (value,)
        return words is None or value in words
    return False
