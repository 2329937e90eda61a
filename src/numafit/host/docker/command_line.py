"""The words after `docker run`, read as Docker reads them: its options, their values as numbers, the image and the
command.
"""

import csv
import re
import shlex
from collections.abc import Iterator, Sequence

import msgspec

from numafit.bits import mask_of
from numafit.errors import InputError

SOURCE = "docker run"

_WITH_VALUE = """
    add-host annotation attach blkio-weight blkio-weight-device cap-add cap-drop cgroup-parent cgroupns cidfile
    cpu-count cpu-percent cpu-period cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares cpus cpuset-cpus cpuset-mems
    detach-keys device device-cgroup-rule device-read-bps device-read-iops device-write-bps device-write-iops dns
    dns-option dns-search domainname entrypoint env env-file expose gpus group-add health-cmd health-interval
    health-retries health-start-interval health-start-period health-timeout hostname io-maxbandwidth io-maxiops ip ip6
    ipc isolation kernel-memory label label-file link link-local-ip log-driver log-opt mac-address memory
    memory-reservation memory-swap memory-swappiness mount name network network-alias oom-score-adj pid pids-limit
    platform publish pull restart runtime security-opt shm-size stop-signal stop-timeout storage-opt sysctl tmpfs
    ulimit user userns uts volume volume-driver volumes-from workdir
    arch authfile cgroup-conf cgroups chrootdirs conmon-pidfile creds decryption-key env-merge gidmap group-entry
    health-on-failure hostuser hosts-file image-volume init-path intel-rdt-closid os passwd-entry personality pidfile
    pod pod-id-file preserve-fd preserve-fds requires sdnotify seccomp-policy secret shm-size-systemd subgidname
    subuidname systemd timeout tz uidmap umask unsetenv variant
"""
"""Of Docker 20.10 to 28, and those that only Podman 4 to 5 has."""
_WITHOUT = """
    detach disable-content-trust help init interactive no-healthcheck oom-kill-disable privileged publish-all quiet
    read-only rm sig-proxy tty use-api-socket
    env-host http-proxy no-hostname no-hosts passwd read-only-tmpfs replace rmi rootfs tls-verify unsetenv-all
"""
_VALUED = frozenset(_WITH_VALUE.split())
_SWITCHES = frozenset(_WITHOUT.split())
_SHORT = {
    "a": "attach",
    "c": "cpu-shares",
    "d": "detach",
    "e": "env",
    "h": "hostname",
    "i": "interactive",
    "l": "label",
    "m": "memory",
    "p": "publish",
    "P": "publish-all",
    "q": "quiet",
    "t": "tty",
    "u": "user",
    "v": "volume",
    "w": "workdir",
}
_OTHER_NAMES = {"net": "network", "net-alias": "network-alias", "dns-opt": "dns-option"}
_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))


class DockerOption(msgspec.Struct, frozen=True):
    name: str
    """The long one, without dashes."""
    value: str
    words: tuple[str, ...]
    """As it was written; short ones that were written together are taken apart."""


class DockerRun(msgspec.Struct, frozen=True):
    options: tuple[DockerOption, ...]
    image: str
    command: tuple[str, ...] = ()

    def values(self, name: str) -> list[str]:
        return [option.value for option in self.options if option.name == name]

    def value(self, name: str) -> str | None:
        """Docker lets the last one count."""
        return next(reversed(self.values(name)), None)

    def is_on(self, name: str) -> bool:
        return self.value(name) in _TRUE

    def variable(self, name: str) -> str | None:
        """What `--env` says of it; empty when it is taken from the caller's environment."""
        found = [value.partition("=") for value in self.values("env")]
        return next((value for key, _, value in reversed(found) if key == name), None)

    def words(self, *, without: Sequence[str] = ()) -> list[str]:
        """The options as they were written, the image and the command."""
        kept = [word for option in self.options if option.name not in without for word in option.words]
        return [*kept, self.image, *self.command]


def parse_docker_run(words: Sequence[str]) -> DockerRun:
    """`words` follow `docker run`."""
    options: list[DockerOption] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            break
        if word == "-" or not word.startswith("-"):
            rest.insert(0, word)
            break
        options += _long(word, rest) if word.startswith("--") else _short(word, rest)
    if not rest or not rest[0]:
        raise InputError("no image is named", source=SOURCE, cure="write: numafit docker run … -- [options] IMAGE …")
    return DockerRun(tuple(options), rest[0], tuple(rest[1:]))


def _long(word: str, rest: list[str]) -> Iterator[DockerOption]:
    written, equals, value = word[2:].partition("=")
    name = _OTHER_NAMES.get(written, written)
    if name in _SWITCHES:
        yield DockerOption(name, _switched(name, value if equals else "true"), (word,))
    elif equals:
        yield DockerOption(name, value, (word,))
    elif name in _VALUED:
        value = _next(f"--{written}", rest)
        yield DockerOption(name, value, (word, value))
    else:
        raise InputError(
            f"--{written[:40]} is not known here, so where the image stands cannot be told",
            source=SOURCE,
            cure=f"write it as --{written[:40]}=VALUE, and a switch as --{written[:40]}=true",
        )


def _short(word: str, rest: list[str]) -> Iterator[DockerOption]:
    """`-dit`, `-e A=1`, `-eA=1`, `-p=80:80`: only the last letter may take a value."""
    for at, letter in enumerate(word[1:], 1):
        name = _SHORT.get(letter)
        if name is None:
            raise InputError(f"-{letter} in {word[:40]} is not an option of docker run", source=SOURCE)
        after = word[at + 1 :]
        if name in _SWITCHES:
            ends = after.startswith("=")
            yield DockerOption(
                name, _switched(name, after[1:] if ends else "true"), (f"-{letter}{after if ends else ''}",)
            )
            if ends:
                return
        elif after:
            yield DockerOption(name, after.removeprefix("="), (f"-{letter}{after}",))
            return
        else:
            value = _next(f"-{letter}", rest)
            yield DockerOption(name, value, (f"-{letter}", value))


def _next(name: str, rest: list[str]) -> str:
    if not rest:
        raise InputError(f"{name} needs a value", source=SOURCE)
    return rest.pop(0)


def _switched(name: str, value: str) -> str:
    if value not in _TRUE | _FALSE:
        raise InputError(f'--{name} is on or off, and not "{value[:40]}"', source=SOURCE)
    return value


# Files of command lines


class ScriptLine(msgspec.Struct, frozen=True):
    number: int
    """Of its first line, from 1."""
    run: DockerRun
    text: str = ""
    """As it was written, on one line, and what of it follows the command: `&& echo done`, `> log 2>&1`."""
    rest: str = ""

    def shell_text(self, words: Sequence[str]) -> str:
        """The words as a shell reads them, and the rest of the line. What a shell puts in for `$NAME` stays so, unless
        it was quoted."""
        quoted = [self._quoted(word) for word in words]
        return " ".join([*quoted, self.rest] if self.rest else quoted)

    def _quoted(self, word: str) -> str:
        if not ("$" in word or "`" in word) or f"'{word}'" in self.text:
            return shlex.quote(word)
        inside = word.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{inside}"'


def docker_lines(text: str, source: str) -> list[ScriptLine]:
    """The `docker run` command lines of a script; other lines, comments and blank ones are passed over. A backslash at
    its end continues a line."""
    found = []
    for at, line in _whole_lines(text):
        whole, rest = _cut(line)
        try:
            words = shlex.split(whole)
        except ValueError as error:
            if "docker" not in whole:
                continue
            raise InputError(f"{error}".lower(), source=source, line=at) from None
        after = _after_docker_run(words)
        if after is not None:
            try:
                found.append(ScriptLine(at, parse_docker_run(after), whole, rest))
            except InputError as error:
                raise InputError(f"{error.source}: {error.message}", source=source, line=at, cure=error.cure) from None
    return found


def unread_lines(text: str) -> list[tuple[int, str]]:
    """Number and text of what looks like `docker run` and is not among `docker_lines`: behind a variable or another
    command, inside of one, or the second one of its line."""
    found = []
    for at, line in _whole_lines(text):
        rest, first = line, True
        while rest:
            command, rest = _cut(rest)
            rest = rest.lstrip(";&|<> \t")
            read = first and _STARTS_SO.match(command) is not None
            found += [(at, " ".join(command.split()))] * (len(_LOOKS_SO.findall(command)) > read)
            first = False
    return found


_LOOKS_SO = re.compile(r"\bdocker\s+(?:-\S+\s+)*(?:container\s+)?run\b")
_STARTS_SO = re.compile(r"\s*(?:sudo\s+)?docker\s+(?:container\s+)?run\b")


def _whole_lines(text: str) -> Iterator[tuple[int, str]]:
    """Each with the number of its first one, where several are continued."""
    pending, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first or number
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        yield first, pending + line
        pending, first = "", 0


def _cut(line: str) -> tuple[str, str]:
    """A simple command, and what follows it: whatever a shell takes for an operator or a redirection; a comment is
    left out."""
    quote = ""
    skipped = False
    for place, sign in enumerate(line):
        if skipped:
            skipped = False
        elif sign == "\\" and quote != "'":
            skipped = True
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "#" and line[:place][-1:] in ("", " ", "\t"):
            return line[:place].rstrip(), ""
        elif sign in ";&|<>":
            # The number of a descriptor belongs to its redirection.
            before = line[:place]
            head = before.rstrip("0123456789") if sign in "<>" else before
            cut = len(head) if head[-1:] in (" ", "\t") else place
            return line[:cut].rstrip(), line[cut:].strip()
    return line, ""


def _after_docker_run(words: Sequence[str]) -> Sequence[str] | None:
    words = words[1:] if words[:1] == ["sudo"] else words
    for start in (["docker", "run"], ["docker", "container", "run"]):
        if list(words[: len(start)]) == start:
            return words[len(start) :]
    return None


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


def docker_size(size: int) -> str:
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


class WantedGpus(msgspec.Struct, frozen=True):
    """What `--gpus` asks for."""

    count: int | None = None
    """-1: all of them; None: those of `devices`."""
    devices: tuple[str, ...] = ()
    """UUIDs or numbers."""


def gpus_of(text: str) -> WantedGpus:
    """`all`, `2`, `"device=0,1"`, `count=2,capabilities=utility`: one line of comma-separated values."""
    try:
        fields = next(csv.reader([text], strict=True), [])
    except csv.Error:
        fields = []
    found: WantedGpus | None = None
    for field in fields:
        key, equals, value = field.partition("=")
        if not equals or key == "count":
            amount = value if equals else key
            if amount == "all":
                found = WantedGpus(-1)
            elif re.fullmatch(r"-1|\d{1,6}", amount, re.ASCII):
                found = WantedGpus(int(amount))
            else:
                raise _no_gpus(text)
        elif key == "device":
            found = WantedGpus(devices=tuple(value.split(",")))
        elif key not in ("driver", "capabilities", "options"):
            raise _no_gpus(text)
    if found is None and not fields:
        raise _no_gpus(text)
    return found or WantedGpus(1)


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
