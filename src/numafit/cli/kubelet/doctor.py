"""`numafit doctor`: would this kubelet start, and does its state make sense?"""

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from msgspec.structs import replace

from numafit.advice.doctor.checkup import Checkup, examine
from numafit.advice.doctor.repair import Repair, repair
from numafit.advice.inspection.inspection import inspected
from numafit.cli.files import manifest_paths, read_bytes, read_state, write_whole
from numafit.cli.options.answer import say, status, strict_option
from numafit.cli.options.facts import facts_told
from numafit.cli.options.live import live_option
from numafit.cli.options.machine import resolve_machine
from numafit.cli.options.node import NodeOptions, node_options
from numafit.cli.options.one_of import OneOf
from numafit.cli.options.stage import config_sources, read_manifests, with_cases
from numafit.cli.options.state import state_paths
from numafit.decision.notes import config_notes
from numafit.decision.start import UNKNOWN, Start
from numafit.errors import InputError
from numafit.machine.combine.unstated import with_memory
from numafit.machine.sketch.devices import with_devices
from numafit.notes import Note
from numafit.settings.config import ROOT_DIR
from numafit.settings.gates import default_gates
from numafit.settings.node_object import with_total_memory
from numafit.show.json import json_text
from numafit.show.records.checkup import WrittenRepairs, checkup_record
from numafit.show.text.checkup import checkup_text
from numafit.workload.manifest import made_up_uid
from numafit.workload.pod import Pod

CONFIG_FILE = "config.yaml"
FLAGS_FILE = "kubeadm-flags.env"
"""Where kubeadm puts a kubelet's configuration and its flags."""


class Ward(msgspec.Struct, frozen=True):
    """The state files that were found, with the pods that should own what stands in them."""

    paths: dict[str, Path] = {}
    texts: dict[str, str] = {}
    pods: tuple[Pod, ...] = ()
    owners: frozenset[str] | None = None
    notes: tuple[Note, ...] = ()


@click.command(
    epilog="""\b
Examples:
  numafit doctor
  numafit doctor --kubelet-dir /var/lib/kubelet --kube-version 1.31
  numafit doctor --machine box.yaml --kubelet kubelet.yaml
  kubectl get pods -A --field-selector spec.nodeName=NODE -o yaml | numafit doctor -
  numafit doctor --node gpu-1
  numafit doctor --repair"""
)
@live_option
@node_options
@click.option(
    "--kubelet-dir",
    type=click.Path(path_type=Path),
    help=f"The kubelet's folder with its state files; default {ROOT_DIR} on this machine. Same as --state.",
)
@click.option("--config", type=click.Path(path_type=Path), help="Same as --kubelet.")
@click.option("--repair", "repairs", is_flag=True, help="Write corrected state files next to the old ones.")
@click.option("--yes", is_flag=True, help="With --repair: put them in place, and keep the old ones as *.old.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True)
@strict_option
def doctor(
    options: NodeOptions,
    kubelet_dir: Path | None,
    config: Path | None,
    repairs: bool,
    yes: bool,
    output: str,
    strict: bool,
) -> int:
    """Say whether the kubelet would start, what its start-up errors mean, and the safe way out.

    The configuration is that of --kubelet, --config-dir and --kubelet-env; without them config.yaml and
    kubeadm-flags.env in the kubelet's folder. PODS are all pods of the node, with their UIDs: then entries without an
    owner are found, and pods that would be rejected when the kubelet starts. Exit status: 0 healthy, 1 findings, 2 bad
    input, and with --strict also an answer with notes.
    """
    if yes and not repairs:
        raise InputError("goes with --repair only", source="--yes")
    told = with_cases(options)
    if told.pods != options.pods and options.state is None:
        why = "its state files are not checked, the API does not tell them: give a copy with --state"
        told = replace(told, notes=(*told.notes, Note("node-partly-known", "node", why)))
    options = _with_folder(replace(told, state=_one("--kubelet-dir", kubelet_dir, options.state)), config)
    version, given = options.release()
    place = str(options.kubelet or options.kubelet_env)
    known = Start(version=version, release_given=given, sources=config_sources(options, options.kubelet_file()))
    read = inspected(known)
    if read.limit is not None:
        raise read.limit
    written_down = read.known.config
    ward = _ward(options, {**default_gates(version), **written_down.feature_gates}, written_down.root_dir)
    _check_owners(ward)
    combined = resolve_machine(options.machines)
    machine = with_devices(combined.machine, options.devices)
    node = options.node()
    if node is not None:
        machine = with_total_memory(machine, node)
    facts = facts_told(options.told(node), options.offers, machine)
    known = replace(known, machine=with_memory(machine), files=ward.texts, facts=facts)
    checkup = examine(known, owners=ward.owners, pods=ward.pods, place=place)
    written = _repair(checkup, ward, in_place=yes) if repairs else ()
    notes = (*combined.notes, *config_notes(read.known), *checkup.notes, *options.notes, *ward.notes)
    _print(checkup, known, output, notes, written)
    return status(notes, strict=strict, failed=bool(checkup.findings))


def _print(checkup: Checkup, known: Start, output: str, notes: Sequence[Note], written: WrittenRepairs = ()) -> None:
    files = () if known.machine is UNKNOWN else tuple(known.files)
    if output == "json":
        click.echo(json_text(checkup_record(checkup, known.version, written, files, notes)))
    else:
        say(lambda screen: checkup_text(checkup, known.version, written, files, screen), notes)


def _one(name: str, first: Path | None, second: Path | None) -> Path | None:
    if first and second and first != second:
        raise InputError("is said twice, and differently", source=name, field=str(second))
    return first or second


def _with_folder(options: NodeOptions, config: Path | None) -> NodeOptions:
    """The configuration of the kubelet's folder, if none is given."""
    options = replace(options, kubelet=_one("--config", config, options.kubelet))
    folder = _folder(options, ROOT_DIR)
    if folder is not None and not folder.is_dir():
        raise InputError("is not a folder", source=str(folder), cure="name the kubelet's root, like /var/lib/kubelet")
    if options.kubelet or options.kubelet_env:
        return options
    if folder is None or not (folder / CONFIG_FILE).exists():
        raise InputError(
            "no kubelet configuration is given" + (f", and there is no {folder / CONFIG_FILE}" if folder else ""),
            cure="name it by --kubelet or --kubelet-env",
        )
    flags = folder / FLAGS_FILE
    return replace(options, kubelet=folder / CONFIG_FILE, kubelet_env=flags if flags.exists() else None)


def _folder(options: NodeOptions, root: str) -> Path | None:
    """Without one: that of this machine, if it is this machine that is looked at."""
    if options.state is None and not options.machines and Path(root).is_dir():
        return Path(root)
    return options.state


def _ward(options: NodeOptions, gates: dict[str, bool], root: str) -> Ward:
    folder = _folder(options, root)
    paths = state_paths(folder) if folder is not None else {}
    texts = {name: read_state(path) for name, path in paths.items()}
    if not options.pods:
        return Ward(paths, texts, (), None)
    pod_level = gates.get("PodLevelResources", False)
    reading = read_manifests(options, manifest_paths(options.pods), pod_level=pod_level)
    return Ward(paths, texts, reading.pods, frozenset(pod.uid for pod in reading.pods), reading.notes)


def _check_owners(ward: Ward) -> None:
    """Manifests as people write them have no UID: every entry would seem to have no owner."""
    made_up = [pod.uid for pod in ward.pods if pod.uid == made_up_uid(pod.namespace, pod.name)]
    if made_up and ward.texts and not any(uid in text for uid in made_up for text in ward.texts.values()):
        raise InputError(
            "a pod has no UID, so it cannot be found in the state files",
            cure="give the pods as the API server has them: kubectl get pods -o yaml",
        )


def _repair(checkup: Checkup, ward: Ward, *, in_place: bool) -> WrittenRepairs:
    """What was made of each file, and where it lies now."""
    if checkup.node is None:
        return ()
    done: list[tuple[Repair, Path | None]] = []
    for made in repair(checkup.node, ward.texts, ward.owners):
        if not made.text:
            done.append((made, None))
            continue
        path = ward.paths[made.name]
        target = path.with_name(f"{path.name}.repaired")
        if in_place:
            old = next(name for name in _old_names(path) if not name.exists())
            _write(old, read_bytes(path), path)
            target = path
        _write(target, made.text.encode(), path)
        done.append((made, target))
    return tuple(done)


def _write(target: Path, data: bytes, like: Path) -> None:
    """With the permissions of the file that it is made from: nobody else may read the kubelet's."""
    mode = like.stat().st_mode & 0o777
    write_whole(target, data)
    target.chmod(mode)


def _old_names(path: Path) -> list[Path]:
    """Nothing that was kept before is written over."""
    return [path.with_name(f"{path.name}.old"), *(path.with_name(f"{path.name}.old.{i}") for i in range(1, 1000))]
