"""The options that describe a node, shared by all commands that play pods on one."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from msgspec.structs import replace

from numafit.cli.files import MANIFESTS, manifest_paths, read_bytes, read_text
from numafit.cli.options.machine import complete_machine, resolve_machine
from numafit.decision.node import CPU_FILE, DEVICE_FILE, MEMORY_FILE, Node, Started, new_node, register, start
from numafit.decision.simulation import restored_pods
from numafit.errors import InputError, StartError, StartRefusedError
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Machine
from numafit.machine.sketch.devices import parse_devices
from numafit.quantity import Quantity
from numafit.settings.allocatable import allocatable_of, check_capacity, settings_of
from numafit.settings.config import KubeletConfig
from numafit.settings.example import EXAMPLE_NAME, example_kubelet
from numafit.settings.read.arguments import arguments_of_env
from numafit.settings.read.loader import ConfigFile, LoadedConfig, load_config, refuse_unknown
from numafit.settings.versions import DEFAULT_VERSION, KubeVersion, parse_version
from numafit.workload.manifest import read_pods
from numafit.workload.pod import Pod

F = TypeVar("F", bound=Callable[..., Any])

MOST_PODS = 200_000
"""A kubelet takes 110 unless told otherwise; a wrong number of replicas must not fill the memory."""


class NodeOptions(msgspec.Struct, frozen=True):
    """What was typed. `pods` may name a folder that also holds `machine.*` and `kubelet.*`."""

    pods: tuple[Path, ...] = ()
    machines: tuple[str, ...] = ()
    kubelet: Path | None = None
    config_dir: Path | None = None
    kubelet_env: Path | None = None
    kube_version: str = str(DEFAULT_VERSION)
    state: Path | None = None
    devices: tuple[str, ...] = ()
    active: tuple[Pod, ...] | None = None
    """Who is there, where that is known better than from the state files."""


class Setting(msgspec.Struct, frozen=True):
    """A node that has started, and the pods to play on it."""

    node: Node
    ledger: Ledger
    allocatable: Mapping[str, Quantity]
    pods: tuple[Pod, ...]
    config: KubeletConfig
    example: str = ""
    """The configuration that was made up because none was given."""


def node_options(command: F) -> F:
    """Adds the options, and hands them to the command as one `options: NodeOptions`."""

    @wraps(command)
    def wrapped(
        pods: Sequence[Path],
        machines: Sequence[str],
        kubelet: Path | None,
        config_dir: Path | None,
        kubelet_env: Path | None,
        kube_version: str,
        state: Path | None,
        devices: Sequence[str],
        active: tuple[Pod, ...] | None = None,
        **rest: Any,
    ) -> Any:
        options = NodeOptions(
            tuple(pods), tuple(machines), kubelet, config_dir, kubelet_env, kube_version, state, tuple(devices), active
        )
        return command(options=options, **rest)

    path = click.Path(path_type=Path)
    decorated: Any = wrapped
    for decorator in reversed(
        (
            click.argument("pods", nargs=-1, metavar="PODS...", type=click.Path(path_type=Path, allow_dash=True)),
            click.option(
                "--machine",
                "machines",
                multiple=True,
                metavar="SPEC",
                shell_complete=complete_machine,
                help="A file, folder, catalogue name or sketch; default this machine. Repeat to combine sources.",
            ),
            click.option("--kubelet", type=path, help="Its KubeletConfiguration (YAML or JSON)."),
            click.option("--config-dir", type=path, help="Folder of drop-in files (*.conf)."),
            click.option("--kubelet-env", type=path, help='File with flags, as in KUBELET_ARGS="--…".'),
            click.option(
                "--kube-version", default=str(DEFAULT_VERSION), show_default=True, help="Release of the kubelet."
            ),
            click.option("--state", type=path, help="Start from the state files in this folder."),
            click.option(
                "--device",
                "devices",
                multiple=True,
                metavar="RESOURCE=ID@NUMA,…",
                help="Devices of a plugin; an id without @ has no NUMA node.",
            ),
        )
    ):
        decorated = decorator(decorated)
    return decorated  # type: ignore[no-any-return]


def load_setting(options: NodeOptions) -> Setting:
    """Raises InputError also for a kubelet that would not start, in its own words."""
    options = _with_folder(options)
    version = parse_version(options.kube_version)
    machine = _machine(options)
    try:
        config, example = _config(options, version, machine)
        settings = settings_of(config, machine, version)
        node = new_node(machine, settings)
        started = _started(node, options.state)
        check_capacity(settings.reservation, machine, version)
    except StartError as error:
        raise _would_not_start(error, options) from None
    active = restored_pods(started.ledger) if options.active is None else {pod.uid: pod for pod in options.active}
    ledger = replace(register(node, started.ledger, machine.devices), active=active)
    pods = _pods(options.pods, pod_level=settings.gate("PodLevelResources"))
    return Setting(node, ledger, allocatable_of(config, machine, version), tuple(pods), config, example)


def _would_not_start(error: StartError, options: NodeOptions) -> StartRefusedError:
    from numafit.advice.lint.pages import FlagFile
    from numafit.advice.refusal import start_refusal

    env, flags = options.kubelet_env, None
    if env is not None:
        text = read_text(env)
        flags = FlagFile(str(env), text, arguments_of_env(text, str(env)))
    drop_ins = _drop_ins(options.config_dir) or ()
    if options.kubelet is None:
        return start_refusal(error, str(env or EXAMPLE_NAME), drop_ins=drop_ins, flags=flags)
    return start_refusal(error, str(options.kubelet), read_bytes(options.kubelet), drop_ins=drop_ins, flags=flags)


def _with_folder(options: NodeOptions) -> NodeOptions:
    """A folder may bring its machine and its kubelet along, in files of these names."""
    pods: list[Path] = []
    for path in options.pods:
        if not path.is_dir():
            pods.append(path)
            continue
        env = path / "kubelet.env"
        if options.kubelet_env is None and env.is_file():
            options = replace(options, kubelet_env=env)
        for entry in manifest_paths([path]):
            if entry.stem == "machine":
                options = options if options.machines else replace(options, machines=(str(entry),))
            elif entry.stem == "kubelet":
                options = options if options.kubelet else replace(options, kubelet=entry)
            else:
                pods.append(entry)
    return replace(options, pods=tuple(pods))


def _machine(options: NodeOptions) -> Machine:
    combined = resolve_machine(options.machines)
    if combined.disagreements:
        from numafit.cli.options.machine import disagreement_lines

        click.echo("\n".join(disagreement_lines(combined.disagreements, 100)) + "\n", err=True)
    machine = combined.machine
    if not machine.numa_nodes:
        cure = "`numafit machine show` shows what is known; add a source"
        raise InputError("no NUMA node of this machine is known", source="--machine", cure=cure)
    given = parse_devices(options.devices)
    named = {device.resource for device in given}
    kept = tuple(device for device in machine.devices if device.resource not in named)
    return replace(machine, devices=kept + given)


def _config(options: NodeOptions, version: KubeVersion, machine: Machine) -> tuple[KubeletConfig, str]:
    example = ""
    file: ConfigFile | None = None
    if options.kubelet is not None:
        file = ConfigFile(str(options.kubelet), read_text(options.kubelet))
    elif options.kubelet_env is None:
        example = example_kubelet(machine)
        file = ConfigFile(EXAMPLE_NAME, example)
    loaded = read_config(options, version, file)
    refuse_unknown(loaded, version)
    for unknown in loaded.unknown:
        place = f"{unknown.source}:{unknown.line}" if unknown.line else unknown.source
        click.echo(f"numafit: {place}: {unknown.field} is ignored: later kubelets than {version} know it", err=True)
    return loaded.config, example


def read_config(options: NodeOptions, version: KubeVersion, file: ConfigFile | None) -> LoadedConfig:
    """`file` with the drop-in files and flags of the options. Tells on standard error what the flags name in vain."""
    env = options.kubelet_env
    loaded = load_config(
        version,
        file=file,
        drop_ins=_drop_ins(options.config_dir),
        arguments=arguments_of_env(read_text(env), str(env)) if env is not None else (),
        arguments_source=str(env or ""),
    )
    for flag in loaded.missing:
        option = "--kubelet" if flag.startswith("--config=") else "--config-dir"
        click.echo(f"numafit: {env}: {flag} is not looked at (give what it names, or a copy, by {option})", err=True)
    return loaded


def _drop_ins(folder: Path | None) -> list[ConfigFile] | None:
    if folder is None:
        return None
    if not folder.is_dir():
        raise InputError("is not a folder", source=str(folder), cure="name the kubelet's --config-dir")
    return [ConfigFile(str(path), read_text(path)) for path in folder.rglob("*.conf") if path.is_file()]


def _started(node: Node, folder: Path | None) -> Started:
    """What fails at this point lies in the state files, where there are any."""
    files = _state_files(folder)
    try:
        started = start(node, files)
    except StartError as error:
        if not files:
            raise
        raise StartRefusedError(error, source=str(folder)) from None
    if started.device_file_error:
        why = f"the kubelet goes on without its {DEVICE_FILE}: {started.device_file_error}"
        click.echo(f"numafit: {folder}: {why}", err=True)
    return started


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


def _pods(paths: Sequence[Path], *, pod_level: bool) -> list[Pod]:
    pods: dict[str, Pod] = {}
    for path in paths:
        source = "standard input" if str(path) == "-" else str(path)
        for workload in read_pods(read_bytes(path), source, pod_level=pod_level):
            if len(pods) + workload.count > MOST_PODS:
                raise InputError(
                    f"{len(pods) + workload.count} pods with those of {workload.kind} {workload.name}",
                    source=source,
                    cure=f"at most {MOST_PODS} are played; are the replicas right?",
                )
            for pod in workload.pods():
                if pod.uid in pods:
                    name = pod.full_name
                    raise InputError(f"the pod {name} comes twice", source=source, cure="give it another name or uid")
                pods[pod.uid] = pod
    if not pods:
        raise InputError("no pods to play", cure=f"name manifests ({', '.join(MANIFESTS)}), a folder of them, or -")
    return list(pods.values())
