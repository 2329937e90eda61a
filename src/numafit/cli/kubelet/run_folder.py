"""A folder that holds a run of a whole kubelet, as the recording of that run.

What it holds is told in `numafit/replay/runs`. The file `machine` names a file of the folder, or a captured machine in
the folder `captures` beside the folder of runs.
"""

import gzip
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from numafit.cli.files import read_text
from numafit.cli.options.node import NodeOptions
from numafit.cli.options.stage import config_sources, load_stage
from numafit.errors import InputError
from numafit.quantity import parse_quantity
from numafit.replay.outcomes import Json
from numafit.replay.runs.seen import decisions_seen, node_seen
from numafit.replay.runs.steps import BASE, Played, played
from numafit.replay.simulated_run import RunBeginning, case_of_run, run_input, sources_record
from numafit.settings.read.loader import ConfigFile
from numafit.workload.pod import STORAGE, Pod

CASE, RESULT, MACHINE, LOG = "case.json", "result.json", "machine", "kubelet.log.gz"

_VERSION = re.compile(rb'kubeletVersion="([^"]+)"')


def is_run(folder: Path) -> bool:
    return (folder / CASE).is_file() and (folder / RESULT).is_file()


def left_out_of(folder: Path) -> str:
    """Why no more of the run is compared than its first events; empty where all of it is."""
    return played(_read(folder / CASE), _read(folder / BASE)).left_out


def case_of_folder(folder: Path) -> Json | None:
    """One line of a recording file; None for a run of which no event file can say anything."""
    try:
        return _case(folder)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise InputError(f"not a run: {error!r} in {CASE} or {RESULT}", source=str(folder)) from None


def _case(folder: Path) -> Json | None:
    case, result = _read(folder / CASE), _read(folder / RESULT)
    base = _read(folder / BASE)
    run = played(case, base)
    if not run.steps:
        return None
    options = node_options(folder, case)
    stage = load_stage(options, idle=True)
    steps: Sequence[Mapping[str, Any]] = result["steps"]
    static = is_static(case)
    seen_first: Mapping[str, str] = steps[0].get("node_allocatable") or {}
    # What a node offers of it no machine tells.
    told = {STORAGE: parse_quantity(seen_first[STORAGE])} if STORAGE in seen_first else {}
    beginning = RunBeginning(stage.node, stage.ledger, {**stage.allocatable, **told}, stage.config)
    added = {name for step in run.steps for line in step.lines if line.startswith("add ") for name in line.split()[1:]}
    pods = [pod for pod in as_in_run(stage.pods, steps, static) if pod.name in added]
    content = run_input(beginning, pods, [line for step in run.steps for line in step.lines])
    content["configs"] = {
        name: sources_record(config_sources(options, ConfigFile(name, msgspec.json.encode(config).decode())))
        for name, config in run.configs.items()
    }
    expect = {"events": expected_events(run, steps, static=static)}
    return case_of_run(folder.name, stage.node.settings.version, content, expect)


def is_static(case: Mapping[str, Any]) -> bool:
    """A standalone kubelet, with its pods in a folder."""
    return bool(case.get("mode", "static") == "static")


def expected_events(run: Played, steps: Sequence[Mapping[str, Any]], *, static: bool) -> list[Json]:
    """One entry for each line: decisions where the kubelet decides, the node at the end of the event."""
    entries: list[Json] = []
    for step in run.steps:
        own: list[Json] = [{"decisions": []} for _ in step.lines]
        own[step.decides] = decisions_seen(steps, step.number, static=static)
        own[-1] = own[-1] | node_seen(steps, step.number)
        entries += own
    return entries


def as_in_run(pods: Sequence[Pod], steps: Sequence[Mapping[str, Any]], static: bool) -> list[Pod]:
    """With the UIDs that the kubelet gave to static ones."""
    uids = {step["pod"]: step["uid"] for step in steps if step.get("uid")}
    return [replace(pod, static=True, uid=uids.get(pod.name, pod.uid)) if static else pod for pod in pods]


def node_options(folder: Path, case: Mapping[str, Any]) -> NodeOptions:
    """The node of a run, as `simulate` would be told of it."""
    name = read_text(folder / MACHINE).strip()
    inside, captured = folder / name, folder.parent.parent / "captures" / name / "sys.tgz"
    machine = inside if inside.is_file() else captured
    plugins = [f"{plugin['resource']}={','.join(plugin['devices'])}" for plugin in case.get("plugins") or ()]
    drop_ins, flags = folder / "conf.d", folder / "kubelet.env"
    return NodeOptions(
        pods=(folder / "manifests",),
        machines=(str(machine),),
        kubelet=folder / BASE,
        config_dir=drop_ins if drop_ins.is_dir() else None,
        kubelet_env=flags if flags.is_file() else None,
        kube_version=_version(folder / LOG),
        devices=(*plugins, *(case.get("devices") or ())),
    )


def _version(log: Path) -> str:
    try:
        with gzip.open(log) as lines:
            found = next((match for match in map(_VERSION.search, lines) if match), None)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be read: {error}", source=str(log)) from None
    if found is None:
        raise InputError("the log does not tell the release of its kubelet", source=str(log))
    return found[1].decode()


def _read(path: Path) -> Json:
    try:
        return msgspec.json.decode(read_text(path), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise InputError(f"not a run: {error}", source=str(path)) from None
