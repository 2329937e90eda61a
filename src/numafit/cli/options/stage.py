"""From the options that describe a node to one that has started, with the pods to play on it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from numafit.cli.files import MANIFESTS, drop_in_paths, manifest_paths, read_bytes, read_text
from numafit.cli.options.case import case_parts
from numafit.cli.options.facts import is_node, node_among
from numafit.cli.options.machine import resolve_machine
from numafit.cli.options.node import NodeOptions, source_name
from numafit.cli.options.state import state_of, state_refusal
from numafit.cluster.case.case import PARTLY, is_case
from numafit.decision.stage import Stage, new_stage, with_pods
from numafit.decision.start import UNKNOWN, Files, Start, start
from numafit.errors import InputError, StartError
from numafit.machine.combine.unstated import with_memory
from numafit.machine.model import Machine
from numafit.machine.sketch.devices import with_devices
from numafit.notes import Note
from numafit.settings.example import EXAMPLE_NAME, example_kubelet
from numafit.settings.read.arguments import arguments_of_env
from numafit.settings.read.loader import ConfigFile, ConfigSources, refuse_unknown
from numafit.workload.objects import ManifestFile
from numafit.workload.reading import NodeChoice, Reading, read_files, read_past
from numafit.workload.unread import has_claims

if TYPE_CHECKING:
    from numafit.cluster.topology.model import NodeTopology
    from numafit.settings.node_object import NodeObject

MOST_PODS = 200_000
"""A kubelet takes 110 unless told otherwise; a wrong number of replicas must not fill the memory."""


def load_stage(options: NodeOptions, *, idle: bool = False, past: bool = False) -> Stage:
    """Raises InputError also for a kubelet that would not start, in its own words.

    `idle`: no pod need come, where those that are given are on the node already. `past`: pods come whatever has become
    of them, and there may be none.
    """
    options = with_folder(options)
    node = options.node()
    stage = _started(options, node) if options.published is None else _as_published(options, options.published, node)
    gate = stage.node.settings.gate("PodLevelResources")
    reading = read_manifests(options, options.pods, pod_level=gate, node=node, past=past)
    known = options.state is not None or options.agent is not None or options.published is not None
    stage = with_pods(stage, reading, known=known)
    if options.published is not None and options.again:
        from numafit.cli.options.published import with_named_to_come

        stage = with_named_to_come(stage, reading.running, options.again)
    if options.published is not None or any(has_claims(pod) for pod in (*reading.running, *reading.coming)):
        # Only pods with claims need it, and a command starts quicker without it.
        from numafit.cli.options.claims import with_claims_of

        stage = with_claims_of(stage, options)
    if not stage.pods and not idle:
        cure = "give pods to come, too; `numafit simulate` shows what is left"
        raise InputError("no pods to play: those that are given are on the node already", cure=cure)
    return stage


def _as_published(options: NodeOptions, topology: "NodeTopology", node: "NodeObject | None") -> Stage:
    # Only such a node needs it, and a command starts quicker without it.
    from numafit.cli.options.published import published_stage

    return published_stage(options, topology, node)


def _started(options: NodeOptions, node: "NodeObject | None") -> Stage:
    """The node of these options, with those on it of whom state files tell."""
    version, given = options.release()
    machine, disputed = _machine(options)
    if node is not None:
        from numafit.settings.node_object import node_disagreements, with_total_memory

        machine = with_total_memory(machine, node)
    facts = options.facts(node, machine)
    known = Start(version=version, release_given=given, machine=with_memory(machine), facts=facts)
    file = options.kubelet_file()
    example = ""
    if file is None and options.kubelet_env is None:
        example = example_kubelet(known.machine)
        file = ConfigFile(EXAMPLE_NAME, example)
    stands_in = bool(example) or (options.kubelet is None and options.agent is not None and options.agent.assumed)
    known = replace(known, sources=replace(config_sources(options, file), example=stands_in))
    try:
        known = start(known, "valid")
        refuse_unknown(known.merged, known.version)
        known = _over_state(start(known, "node"), options)
        stage = new_stage(known)
    except StartError as error:
        # Only a refusal needs its place and cure, and a command starts quicker without them.
        from numafit.advice.refusal import start_refusal

        raise start_refusal(error, known.sources, known.version) from None
    notes = (*disputed, *stage.notes, *options.notes)
    if node is not None:
        own = {name: amount for name, amount in stage.allocatable.items() if name not in known.facts.offers}
        notes += node_disagreements(node, machine, own, known.version)
    return replace(stage, example=example, notes=notes)


def with_cases(options: NodeOptions) -> NodeOptions:
    """What nodes that were pulled tell, or the one of --node; other folders stay as they are."""
    pods: list[Path] = []
    for path in options.pods:
        own_pods = [path]
        if path.is_dir() and is_case(path):
            options, own_pods = _with_case(options, path)
        pods += own_pods
    return replace(options, pods=tuple(pods))


def with_folder(options: NodeOptions) -> NodeOptions:
    """A folder may bring its machine, its kubelet and its Node object along, in files of these names."""
    options = with_cases(options)
    pods: list[Path] = []
    machines: list[str] = []
    for path in options.pods:
        if not path.is_dir():
            pods.append(path)
            continue
        env = path / "kubelet.env"
        if options.kubelet_env is None and env.is_file():
            options = replace(options, kubelet_env=env)
        for entry in manifest_paths([path]):
            if entry.stem in ("machine", "nrt"):
                machines.append(str(entry))
            elif entry.stem in ("kubelet", "configz"):
                own = options.kubelet or (options.agent and options.agent.kubelet)
                options = options if own else replace(options, kubelet=entry)
            elif entry.stem == "node" and is_node(entry):
                options = options if options.node_object else replace(options, node_object=entry)
            else:
                pods.append(entry)
    if machines and not options.machine_sources:
        options = replace(options, machines=tuple(machines))
    options = replace(options, pods=tuple(pods))
    if options.node_object or options.all_nodes:
        return options
    return replace(options, node_object=node_among(options.pods, options.node_name))


def _with_case(options: NodeOptions, folder: Path) -> tuple[NodeOptions, list[Path]]:
    """The options with what a pulled node tells, and its pods; an agent knows those better."""
    parts = case_parts(folder)
    if parts.published is not None:
        from numafit.cli.options.published import with_published

        options = with_published(options, parts)
    if not options.machine_sources:
        options = replace(options, machines=(parts.machine_source(),))
    notes = parts.notes
    if options.kubelet is None and options.kubelet_env is None and options.agent is None:
        options = replace(options, kubelet=parts.kubelet_told)
    else:
        # Somebody else tells the configuration: that the cluster does not is no news.
        notes = tuple(note for note in notes if (note.code, note.about) != (PARTLY, "kubelet"))
    options = replace(options, node_object=options.node_object or parts.node, notes=options.notes + notes)
    if options.agent is not None:
        return options, []
    return options, [path for path in (parts.pods, parts.claims) if path is not None]


def _machine(options: NodeOptions) -> tuple[Machine, tuple[Note, ...]]:
    """With what its sources disagree about."""
    combined = resolve_machine(options.machine_sources)
    machine = combined.machine
    if not machine.numa_nodes:
        cure = "`numafit machine show` shows what is known; add a source"
        raise InputError("no NUMA node of this machine is known", source="--machine", cure=cure)
    return with_devices(machine, options.devices), combined.notes


def config_sources(options: NodeOptions, file: ConfigFile | None) -> ConfigSources:
    """`file` with the drop-in files and flags of the options."""
    env = options.kubelet_env
    folder = options.config_dir
    drop_ins = None
    if folder is not None:
        drop_ins = tuple(ConfigFile(str(path), read_text(path)) for path in drop_in_paths(folder))
    if env is None:
        return ConfigSources(file, drop_ins)
    text = read_text(env)
    return ConfigSources(file, drop_ins, arguments_of_env(text, str(env)), str(env), text)


def _over_state(known: Start, options: NodeOptions) -> Start:
    """What fails at this point lies in the state files."""
    source, files = _state(options)
    try:
        known = start(replace(known, files=files), "device_state")
    except StartError as error:
        raise state_refusal(error, options.state, source) from None
    active = UNKNOWN if options.agent is None else {pod.uid: pod for pod in options.agent.active}
    return replace(known, active=active)


def _state(options: NodeOptions) -> tuple[str, Files]:
    """The state files by their names, and what they are called together."""
    if options.agent is not None:
        return "state", options.agent.files
    folder = options.state
    if folder is None:
        return "", {}
    return str(folder), state_of(folder)


def _host_name() -> str:
    """Of this machine; only pods that are to be played on it ask."""
    from socket import gethostname

    return gethostname().lower()


def read_manifests(
    options: NodeOptions,
    paths: Sequence[Path],
    *,
    pod_level: bool,
    node: "NodeObject | None" = None,
    past: bool = False,
) -> Reading:
    """The pods of these files; of the node that is meant, where they are on several: that of the Node object."""
    if not paths and not options.static and not past:
        raise InputError("no pods to play", cure=f"name manifests ({', '.join(MANIFESTS)}), a folder of them, or -")
    files = [ManifestFile(source_name(path), read_bytes(path)) for path in paths]
    own = options.node_name or options.told(node).name
    files += [
        ManifestFile(str(path), read_bytes(path), static=True, node=own) for path in manifest_paths(options.static)
    ]
    here: tuple[str, ...] = () if node is None else (node.name,)
    here += () if options.machine_sources else (_host_name(),)
    cure = "choose one by --node-name, or --all-nodes"
    name, whole, given = options.node_name, options.all_nodes, "" if node is None else node.name
    choice = NodeChoice(name, whole, options.rejected, here, cure, options.again, options.added, given)
    return (read_past if past else read_files)(files, pod_level=pod_level, choice=choice, most=MOST_PODS)
