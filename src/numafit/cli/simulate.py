"""`numafit simulate`: what a kubelet would do with pods, one after the other, on one node."""

from collections.abc import Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from numafit.cli.inputs import manifest_paths, parse_devices, read_bytes, read_text
from numafit.cli.simulate_output import simulation_json, simulation_table
from numafit.decision.node import CPU_FILE, DEVICE_FILE, MEMORY_FILE, new_node, register, start
from numafit.decision.simulation import Simulation, play, restored_pods
from numafit.document import read_document
from numafit.errors import InputError, StartError
from numafit.machine.model import Machine
from numafit.machine.recording import machine_from_recording
from numafit.settings.allocatable import allocatable_of, check_capacity, settings_of
from numafit.settings.arguments import arguments_of_env
from numafit.settings.config import KubeletConfig
from numafit.settings.load import ConfigFile, load_config
from numafit.settings.versions import DEFAULT_VERSION, KubeVersion, parse_version
from numafit.workload.manifest import read_pods
from numafit.workload.pod import Pod


@click.command(
    epilog="""\b
Examples:
  numafit simulate --machine box.json --kubelet kubelet.yaml pod.yaml
  numafit simulate --machine box.json --kubelet-env kubelet.env --kube-version 1.27 pods/
  numafit simulate --machine box.json --kubelet kubelet.yaml \\
      --device nvidia.com/gpu=g0@0,g1@1 --state /var/lib/kubelet -o json - < pod.yaml"""
)
@click.argument("pods", nargs=-1, required=True, metavar="PODS...", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--machine", "machine_path", required=True, type=click.Path(path_type=Path), help="The machine.")
@click.option("--kubelet", type=click.Path(path_type=Path), help="Its KubeletConfiguration (YAML or JSON).")
@click.option("--config-dir", type=click.Path(path_type=Path), help="Folder of drop-in files (*.conf).")
@click.option("--kubelet-env", type=click.Path(path_type=Path), help='File with flags, as in KUBELET_ARGS="--…".')
@click.option("--kube-version", default=str(DEFAULT_VERSION), show_default=True, help="Release of the kubelet.")
@click.option("--state", type=click.Path(path_type=Path), help="Start from the state files in this folder.")
@click.option("--device", "devices", multiple=True, metavar="RESOURCE=ID@NUMA,…", help="Devices of a plugin.")
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def simulate(
    pods: Sequence[Path],
    machine_path: Path,
    kubelet: Path | None,
    config_dir: Path | None,
    kubelet_env: Path | None,
    kube_version: str,
    state: Path | None,
    devices: Sequence[str],
    output: str,
) -> int:
    """Say what the kubelet would do with PODS (manifests, folders of them, or - for standard input), in this order.

    Exit status: 0 all admitted, 1 some rejected, 2 bad input or a kubelet that would not start.
    """
    version = parse_version(kube_version)
    machine = _machine(machine_path, devices)
    try:
        config = _config(version, kubelet, config_dir, kubelet_env)
        simulation = _play(machine, config, version, _state_files(state), pods)
    except StartError as error:
        raise InputError(f"the kubelet would not start: {error.message}", source=str(kubelet or "")) from None
    click.echo(simulation_json(simulation) if output == "json" else simulation_table(simulation))
    return 0 if all(step.decision.admitted for step in simulation.steps) else 1


def _machine(path: Path, devices: Sequence[str]) -> Machine:
    document = read_document(read_bytes(path), str(path))
    if not isinstance(document.value, dict):
        raise document.error("is not a machine")
    try:
        machine = machine_from_recording(document.value)
    except InputError as error:
        raise InputError(error.message, source=str(path), field=error.field, cure=error.cure) from None
    given = parse_devices(devices)
    named = {device.resource for device in given}
    kept = tuple(device for device in machine.devices if device.resource not in named)
    return replace(machine, devices=kept + given)


def _config(version: KubeVersion, file: Path | None, folder: Path | None, env: Path | None) -> KubeletConfig:
    drop_ins: list[ConfigFile] = []
    if folder is not None:
        if not folder.is_dir():
            raise InputError("is not a folder", source=str(folder), cure="name the kubelet's --config-dir")
        drop_ins = [ConfigFile(str(path), read_text(path)) for path in sorted(folder.rglob("*.conf"))]
    loaded = load_config(
        version,
        file=ConfigFile(str(file), read_text(file)) if file is not None else None,
        drop_ins=drop_ins,
        arguments=arguments_of_env(read_text(env), str(env)) if env is not None else (),
        arguments_source=str(env or ""),
    )
    for unknown in loaded.unknown:
        raise InputError(
            f"the kubelet {version} does not know this field and would ignore it",
            source=unknown.source,
            line=unknown.line,
            field=unknown.field,
            cure="remove it or correct its name",
        )
    return loaded.config


def _state_files(folder: Path | None) -> dict[str, str]:
    """The three files, as they lie in the kubelet's folder: the device manager's in one of its own."""
    if folder is None:
        return {}
    if not folder.is_dir():
        raise InputError("is not a folder", source=str(folder), cure="name the kubelet's root, like /var/lib/kubelet")
    files = {}
    for name in (CPU_FILE, MEMORY_FILE, DEVICE_FILE):
        for path in (folder / name, folder / "device-plugins" / name):
            if path.exists():
                files[name] = read_text(path)
                break
    return files


def _play(
    machine: Machine, config: KubeletConfig, version: KubeVersion, files: dict[str, str], paths: Sequence[Path]
) -> Simulation:
    settings = settings_of(config, machine, version)
    node = new_node(machine, settings)
    started = start(node, files)
    check_capacity(settings.reservation, machine, version)
    pods = _pods(paths, pod_level=settings.gate("PodLevelResources"))
    before = replace(register(node, started.ledger, machine.devices), active=restored_pods(started.ledger))
    return play(node, before, pods, allocatable_of(config, machine, version))


def _pods(paths: Sequence[Path], *, pod_level: bool) -> list[Pod]:
    pods: dict[str, Pod] = {}
    for path in manifest_paths(paths):
        source = "standard input" if str(path) == "-" else str(path)
        for workload in read_pods(read_bytes(path), source, pod_level=pod_level):
            for pod in workload.pods():
                if pod.uid in pods:
                    name = f"{pod.namespace}/{pod.name}"
                    raise InputError(f"the pod {name} comes twice", source=source, cure="give it another name or uid")
                pods[pod.uid] = pod
    if not pods:
        raise InputError("no pods in these files", source=", ".join(str(path) for path in paths))
    return list(pods.values())
