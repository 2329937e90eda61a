"""Chooses small recordings of each kind out of a folder of many: `python -m tests.recordings.choose FROM [TO]`.

The rule, for each release and family by itself: go through the cases from the shortest line to the longest, and keep
one when it shows something that none before it showed. What a case shows are pairs of a setting (a policy, an option,
the number of NUMA nodes, a format, an event) and an outcome (a reason, the first words of an error, a step, whether the
merge preferred its hint), and each of them alone. Lines stay byte for byte as they were recorded, in the order of their
names. Whole runs lie in folders: each becomes a line as `numafit replay` reads it.
"""

import gzip
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from numafit.cli.kubelet.run_folder import CASE, case_of_folder, is_run

HERE = Path(__file__).resolve().parent
WORD = re.compile(r"[A-Za-z][A-Za-z-]*")
LONGEST_ERROR = 6
"""Words of an error that tell its kind."""


def chosen(lines: Iterable[bytes]) -> list[bytes]:
    cases = sorted(((len(line), json.loads(line), line) for line in lines), key=lambda each: (each[0], each[1]["id"]))
    shown: set[tuple[str, ...]] = set()
    kept: dict[str, bytes] = {}
    for _, case, line in cases:
        new = set(shows(case)) - shown
        if new:
            shown |= new
            kept[case["id"]] = line
    return [kept[name] for name in sorted(kept)]


def shows(case: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    settings = set(_settings(case["input"]))
    outcomes = {*_outcomes(case["expect"]), f"left to chance: {'nondeterministic' in case}"}
    yield from ((setting,) for setting in settings)
    yield from ((outcome,) for outcome in outcomes)
    yield from ((setting, outcome) for setting in settings for outcome in outcomes)


def _settings(given: dict[str, Any]) -> Iterator[str]:
    config, spec = given.get("config") or {}, given.get("spec")
    for name in ("cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy", "topologyManagerScope"):
        yield f"{name} {config.get(name)}"
    for name in ("cpuManagerPolicyOptions", "topologyManagerPolicyOptions"):
        yield from (f"{option} {value}" for option, value in (config.get(name) or {}).items())
    yield f"kind {given.get('kind')}"
    yield f"{len((given.get('machine') or {}).get('numaNodes') or ())} NUMA nodes"
    if isinstance(spec, dict):
        yield f"format {spec.get('format')}"
    yield from (f"plugin {plugin.get('preferredAllocation')}" for plugin in given.get("plugins") or ())
    yield from (f"event {_kind_of(line)}" for line in given.get("events") or ())


def _kind_of(line: str) -> str:
    """Its word, and how a kubelet starts."""
    word, *rest = line.split()
    starts = word in ("restart", "start")
    options = sorted(option.partition("config=")[0] or "config" for option in rest) if starts else []
    return " ".join([word, *options])


def _outcomes(value: Any) -> Iterator[str]:
    """`Any`: what stands in a recording."""
    if isinstance(value, list):
        for each in value:
            yield from _outcomes(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name in ("reason", "op", "qos"):
                yield f"{name} {each}"
            elif name in ("error", "message", "panic"):
                yield f"{name} {' '.join(WORD.findall(str(each))[:LONGEST_ERROR])}"
            elif name in ("admit", "admitted"):
                yield f"{name} {each}"
            elif name == "best":
                yield f"best {'any' if each[0] is None else each[0].bit_count() > 1} {each[1]}"
            else:
                yield from _outcomes(each)


def runs_in(folder: Path) -> dict[str, list[bytes]]:
    """Release -> whole runs of it that lie under `folder`, in lines."""
    lines: dict[str, list[bytes]] = {}
    for path in sorted(case.parent for case in folder.rglob(CASE) if is_run(case.parent)):
        case = case_of_folder(path)
        if case is not None:
            lines.setdefault(case["kubeVersion"], []).append(msgspec.json.encode(case) + b"\n")
    return lines


def main(arguments: list[str]) -> None:
    source, target = Path(arguments[0]), Path(arguments[1]) if len(arguments) > 1 else HERE
    for path in sorted(source.glob("v*/*.jsonl.gz")):
        with gzip.open(path) as file:
            _keep(chosen(file), target / path.relative_to(source))
    for version, runs in runs_in(source).items():
        _keep(chosen(runs), target / version / "run.jsonl.gz")


def _keep(lines: list[bytes], place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    # Without a time of day in it the same choice makes the same file.
    place.write_bytes(gzip.compress(b"".join(lines), mtime=0))
    print(f"{place.parent.name}/{place.name}: {len(lines)}")


if __name__ == "__main__":
    main(sys.argv[1:])
