"""The values of Docker's options as numbers: sizes, lists of CPUs, GPUs, shares of CPU time."""

import csv
import re

import msgspec

from numafit.errors import InputError
from numafit.host.docker_flags import DockerRun
from numafit.machine.bits import mask_of

_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(?:([kmgtp])(?:i?b)?|b)?", re.IGNORECASE | re.ASCII)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_NUMBERS = re.compile(r"\d{1,6}(?:-\d{1,6})?(?:,\d{1,6}(?:-\d{1,6})?)*", re.ASCII)
_LARGEST = 1 << 13
"""No machine has CPUs above."""


def size_of(text: str, option: str) -> int:
    """Bytes of `32g`, `512m` or `1.5GiB`; Docker's units are all powers of 1024."""
    found = _SIZE.fullmatch(text)
    if found is None or len(text) > 40:
        raise InputError(f'"{text[:40]}" is not a size', source=f"--{option}", cure="Docker writes it like 32g")
    return int(float(found[1]) * 1024 ** _POWERS[(found[2] or "").lower()])


def size_text(size: int) -> str:
    """Bytes in Docker's units, exactly: `32g`, `512m`, `1000b`."""
    for letter in "gmk":
        unit = 1024 ** _POWERS[letter]
        if size and not size % unit:
            return f"{size // unit}{letter}"
    return f"{size}b"


def numbers_of(text: str, option: str) -> int:
    """The mask of `0-3,8`."""
    if not _NUMBERS.fullmatch(text):
        raise InputError(f'"{text[:40]}" is not a list like 0-3,8', source=f"--{option}")
    mask = 0
    for part in text.split(","):
        first, _, last = part.partition("-")
        if int(last or first) >= _LARGEST or int(first) > int(last or first):
            raise InputError(f'"{part}" is no range of CPUs or NUMA nodes', source=f"--{option}")
        mask |= mask_of(range(int(first), int(last or first) + 1))
    return mask


class Gpus(msgspec.Struct, frozen=True):
    """What `--gpus` asks for."""

    count: int | None = None
    """-1: all of them; None: those of `devices`."""
    devices: tuple[str, ...] = ()
    """UUIDs or numbers."""


def gpus_of(text: str) -> Gpus:
    """`all`, `2`, `"device=0,1"`, `count=2,capabilities=utility`: one line of comma-separated values."""
    try:
        fields = next(csv.reader([text], strict=True), [])
    except csv.Error:
        fields = []
    found: Gpus | None = None
    for field in fields:
        key, equals, value = field.partition("=")
        if not equals or key == "count":
            amount = value if equals else key
            if amount == "all":
                found = Gpus(-1)
            elif re.fullmatch(r"-1|\d{1,6}", amount, re.ASCII):
                found = Gpus(int(amount))
            else:
                raise _no_gpus(text)
        elif key == "device":
            found = Gpus(devices=tuple(value.split(",")))
        elif key not in ("driver", "capabilities", "options"):
            raise _no_gpus(text)
    if found is None and not fields:
        raise _no_gpus(text)
    return found or Gpus(1)


def _no_gpus(text: str) -> InputError:
    cure = "Docker takes all, a number, or '\"device=0,1\"' with both kinds of quotes"
    return InputError(f'"{text[:60]}" is not understood', source="--gpus", cure=cure)


def cpu_limit(run: DockerRun) -> float | None:
    """CPUs' worth of time that `--cpus` or `--cpu-quota` leaves the container; None: no limit."""
    cpus, quota = run.value("cpus"), run.value("cpu-quota")
    try:
        if cpus is not None and float(cpus) > 0:
            return float(cpus)
        if quota is not None and int(quota) > 0:
            return int(quota) / (int(run.value("cpu-period") or 0) or 100_000)
    except ValueError:
        option = "cpus" if cpus is not None else "cpu-quota"
        raise InputError(f'"{(cpus or quota or "")[:40]}" is not a number', source=f"--{option}") from None
    return None
