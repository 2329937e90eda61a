"""Which programs a command line starts, as far as its words tell: through wrappers such as env and timeout, and into
the script of a shell. What cannot be known from the words is left out: a miss is better than a false alarm.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

import msgspec


class _Wrapper(msgspec.Struct, frozen=True):
    values: str = ""
    """Its options, written -x or --long, whose value is a word of its own."""
    first: int = 0
    """So many words of its own come before the command."""
    none: str = ""
    """Options with which it starts no command."""
    script: str = ""
    """Options whose value is a script for a shell."""


_PLAIN = _Wrapper()
_WRAPPERS: Mapping[str, _Wrapper] = {
    "builtin": _PLAIN,
    "chrt": _Wrapper("-T -P -D --sched-runtime --sched-period --sched-deadline", 1, "-p --pid -m --max"),
    "command": _Wrapper(none="-v -V"),
    "doas": _Wrapper("-u -C"),
    "env": _Wrapper("-u --unset -C --chdir", script="-S --split-string"),
    "exec": _Wrapper("-a"),
    "flock": _Wrapper("-w --timeout --wait -E --conflict-exit-code", 1, script="-c --command"),
    "ionice": _Wrapper("-c --class -n --classdata", none="-p --pid -P --pgid -u --uid"),
    "nice": _Wrapper("-n --adjustment"),
    "nohup": _PLAIN,
    "numactl": _Wrapper(
        "-C --physcpubind -N --cpunodebind -m --membind -i --interleave -w --weighted-interleave -p --preferred"
        " -P --preferred-many",
        none="-H --hardware -s --show",
    ),
    "perf": _Wrapper("-e --event -o --output -F --freq -r --repeat -C --cpu", 1),
    "setsid": _PLAIN,
    "stdbuf": _Wrapper("-i --input -o --output -e --error"),
    "strace": _Wrapper("-o --output -e --trace -E --env -s --string-limit -u --user", none="-p --attach"),
    "sudo": _Wrapper("-u --user -g --group -h --host -p --prompt -C -D --chdir -R --chroot -r -t -T -U", none="-l -e"),
    "taskset": _Wrapper(first=1, none="-p --pid"),
    "time": _Wrapper("-f --format -o --output"),
    "timeout": _Wrapper("-k --kill-after -s --signal", 1),
    "xargs": _Wrapper("-a --arg-file -d --delimiter -E -I -L --max-lines -n --max-args -P --max-procs -s --max-chars"),
}
_RUN: Mapping[str, _Wrapper] = {
    "conda": _Wrapper("-n --name -p --prefix --cwd", 1),
    "poetry": _Wrapper("-C --directory -P --project", 1),
    "uv": _Wrapper("--with --extra --group --python -p --env-file --project --directory --package", 1),
}
"""By their word `run`."""
_SHELLS = ("sh", "bash", "dash", "ash", "ksh", "mksh", "zsh")
_SHELL_VALUES = ("-o", "+o", "-O", "+O", "--rcfile", "--init-file")
_DEEPEST = 8

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_BEFORE_A_COMMAND = ("{", "!", "if", "then", "elif", "else", "while", "until", "do")
_TOKEN = re.compile(
    r"""
      (?P<blank>(?:[ \t\r]|\\\n)+|\#[^\n]*)
    | (?P<text>\d*<<(?!<))
    | (?P<redirect>\d*(?:<<<|>>|<>|[<>][&|]?(?!\()|&>>?))
    | (?P<end>[<>]?\((?!\()|[;&|)\n]+)
    | (?P<word>(?:
          '[^']*' | "(?:\\.|[^"\\])*" | \\. | `[^`]*` | \$\([^()]*\) | \$\(\([^()]*\)\) | \$\{[^}'"]{,200}\}
        | \[\[\s[^\n]{,200}?\s\]\] | (?!=\(|\$\()[^\s;&|()<>`'"\\]
      )+)
    """,
    re.VERBOSE | re.DOTALL,
)
"""Of a script. What is none of these (sums, lists, commands inside of commands inside of words) is not followed."""
_INSIDE = re.compile(r"\$\(([^()]*)\)|`([^`]*)`")


def programs(command: Sequence[str], depth: int = 0) -> Iterator[Sequence[str]]:
    """Each with its own words, without the wrappers before it."""
    words: Sequence[str] = command
    while words and depth < _DEEPEST:
        depth += 1
        name = PurePath(words[0]).name
        script = " ".join(words[1:]) if name == "eval" else _shell_script(words) if name in _SHELLS else None
        wrapper = _RUN.get(name) if words[1:2] == ["run"] else _WRAPPERS.get(name)
        if script is None and wrapper is not None:
            script, words = _unwrapped(wrapper, words)
            if script is None:
                continue
        if script is None:
            yield words
            return
        for simple in _commands(script):
            yield from programs(simple, depth)
        return


def _unwrapped(wrapper: _Wrapper, words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """The script, or the words of the command that it starts."""
    values, none, script = wrapper.values.split(), wrapper.none.split(), wrapper.script.split()
    own, place, options = wrapper.first, 1, True
    while place < len(words):
        word = words[place]
        if options and word.startswith("-"):
            if word in none:
                return None, ()
            if word in script:
                return " ".join(words[place + 1 : place + 2]), ()
            options = word != "--"
            place += 2 if word in values else 1
        elif own:
            own, place = own - 1, place + 1
        elif _ASSIGNMENT.fullmatch(word):
            place += 1
        else:
            break
    return None, words[place:]


def _shell_script(words: Sequence[str]) -> str | None:
    """The value of -c; None: it reads a file or what comes in."""
    found, place = False, 1
    while place < len(words) and words[place][:1] in ("-", "+") and words[place] != "--":
        word = words[place]
        letters = "" if word.startswith("--") else word[1:]
        found = found or (word[0] == "-" and "c" in letters)
        # Also as in `bash -euo pipefail -c`.
        place += 2 if word in _SHELL_VALUES or letters[-1:] in ("o", "O") else 1
    place += words[place : place + 1] == ["--"]
    return words[place] if found and place < len(words) else None


def _commands(script: str) -> Iterator[list[str]]:
    """The simple commands of a script, up to where it cannot be followed."""
    words: list[str] = []
    place, skip = 0, False
    while place < len(script):
        token = _TOKEN.match(script, place)
        if token is None:
            return
        place = token.end()
        if token.lastgroup == "text":
            break
        if token.lastgroup == "redirect":
            skip = True
        elif token.lastgroup == "word":
            if not token[0].startswith("'"):
                for inside in _INSIDE.finditer(token[0]):
                    yield from _commands(inside[1] or inside[2] or "")
            words += [] if skip else [token[0]]
            skip = False
        elif token.lastgroup == "end":
            # `name (` begins a function, and patterns of `case` look like commands.
            if token[0] != "(" or not words:
                yield from _simple(words)
            if "case" in words:
                return
            words = []
    yield from _simple(words)


def _simple(raw: Sequence[str]) -> Iterator[list[str]]:
    """Without what stands before a command."""
    start = 0
    while start < len(raw) and (raw[start] in _BEFORE_A_COMMAND or _ASSIGNMENT.fullmatch(raw[start])):
        start += 1
    try:
        words = [" ".join(shlex.split(word)) for word in raw[start:]]
    except ValueError:
        return
    if words:
        yield words
