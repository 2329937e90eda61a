"""The words after `docker run`, read as Docker reads them: its options, the image and the command."""

import shlex
from collections.abc import Iterator, Sequence

import msgspec

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
"""
"""Of Docker 20.10 to 28."""
_WITHOUT = """
    detach disable-content-trust help init interactive no-healthcheck oom-kill-disable privileged publish-all quiet
    read-only rm sig-proxy tty use-api-socket
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


class Option(msgspec.Struct, frozen=True):
    name: str
    """The long one, without dashes."""
    value: str
    words: tuple[str, ...]
    """As it was written; short ones that were written together are taken apart."""


class DockerRun(msgspec.Struct, frozen=True):
    options: tuple[Option, ...]
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
    options: list[Option] = []
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


def _long(word: str, rest: list[str]) -> Iterator[Option]:
    written, equals, value = word[2:].partition("=")
    name = _OTHER_NAMES.get(written, written)
    if name in _SWITCHES:
        yield Option(name, _switched(name, value if equals else "true"), (word,))
    elif equals:
        yield Option(name, value, (word,))
    elif name in _VALUED:
        value = _next(f"--{written}", rest)
        yield Option(name, value, (word, value))
    else:
        raise InputError(
            f"--{written[:40]} is not known here, so where the image stands cannot be told",
            source=SOURCE,
            cure=f"write it as --{written[:40]}=VALUE, and a switch as --{written[:40]}=true",
        )


def _short(word: str, rest: list[str]) -> Iterator[Option]:
    """`-dit`, `-e A=1`, `-eA=1`, `-p=80:80`: only the last letter may take a value."""
    for at, letter in enumerate(word[1:], 1):
        name = _SHORT.get(letter)
        if name is None:
            raise InputError(f"-{letter} in {word[:40]} is not an option of docker run", source=SOURCE)
        after = word[at + 1 :]
        if name in _SWITCHES:
            ends = after.startswith("=")
            yield Option(name, _switched(name, after[1:] if ends else "true"), (f"-{letter}{after if ends else ''}",))
            if ends:
                return
        elif after:
            yield Option(name, after.removeprefix("="), (f"-{letter}{after}",))
            return
        else:
            value = _next(f"-{letter}", rest)
            yield Option(name, value, (f"-{letter}", value))


def _next(name: str, rest: list[str]) -> str:
    if not rest:
        raise InputError(f"{name} needs a value", source=SOURCE)
    return rest.pop(0)


def _switched(name: str, value: str) -> str:
    if value not in _TRUE | _FALSE:
        raise InputError(f'--{name} is on or off, and not "{value[:40]}"', source=SOURCE)
    return value


# Files of command lines


class Line(msgspec.Struct, frozen=True):
    number: int
    """Of its first line, from 1."""
    run: DockerRun


def docker_lines(text: str, source: str) -> list[Line]:
    """The `docker run` command lines of a script; other lines, comments and blank ones are passed over. A backslash at
    its end continues a line."""
    found = []
    pending, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first or number
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        whole, at = pending + line, first
        pending, first = "", 0
        try:
            words = shlex.split(whole, comments=True)
        except ValueError as error:
            if "docker" not in whole:
                continue
            raise InputError(f"{error}".lower(), source=source, line=at) from None
        after = _after_docker_run(words)
        if after is not None:
            try:
                found.append(Line(at, parse_docker_run(after)))
            except InputError as error:
                raise InputError(f"{error.source}: {error.message}", source=source, line=at, cure=error.cure) from None
    return found


def _after_docker_run(words: Sequence[str]) -> Sequence[str] | None:
    words = words[1:] if words[:1] == ["sudo"] else words
    for start in (["docker", "run"], ["docker", "container", "run"]):
        if list(words[: len(start)]) == start:
            return words[len(start) :]
    return None
