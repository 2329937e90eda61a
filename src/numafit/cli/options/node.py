"""The options that describe a node, shared by all commands that play pods on one."""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from msgspec.structs import replace

from numafit.cli.files import read_bytes, read_text
from numafit.cli.options.facts import facts_told
from numafit.cli.options.machine import complete_machine
from numafit.decision.start import Files
from numafit.machine.model import Machine
from numafit.machine.source import Source
from numafit.notes import Note
from numafit.settings.facts import NO_FACTS, NodeFacts
from numafit.settings.read.loader import ConfigFile
from numafit.settings.versions import DEFAULT_VERSION, KubeVersion, parse_version
from numafit.workload.pod import Pod

if TYPE_CHECKING:
    from numafit.cluster.topology.model import NodeTopology
    from numafit.settings.node_object import NodeObject

F = TypeVar("F", bound=Callable[..., Any])


class AgentNode(msgspec.Struct, frozen=True):
    """The node that a running agent shows: what options that name files say of another one."""

    machine: Source
    kubelet: ConfigFile | None
    files: Files
    active: tuple[Pod, ...]
    version: str
    assumed: bool = False
    """Its kubelet and release are those of an example."""
    facts: NodeFacts = NO_FACTS


class NodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What was typed. `pods` may name a folder that also holds `machine.*` and `kubelet.*`."""

    pods: tuple[Path, ...] = ()
    machines: tuple[str | Source, ...] = ()
    kubelet: Path | None = None
    config_dir: Path | None = None
    kubelet_env: Path | None = None
    kube_version: str | None = None
    state: Path | None = None
    devices: tuple[str, ...] = ()
    agent: AgentNode | None = None
    node_name: str = ""
    all_nodes: bool = False
    rejected: bool = False
    node_object: Path | None = None
    static: tuple[Path, ...] = ()
    """Manifests of static pods."""
    offers: tuple[str, ...] = ()
    """RESOURCE=AMOUNT that the node has for pods."""
    again: str = ""
    """A pod that is played also where it has ended, by its name or namespace/name."""
    added: frozenset[str] = frozenset()
    """Pods that a file of events has come, named in the same way."""
    notes: tuple[Note, ...] = ()
    """What is not known of the node that these options stand for."""
    compared: str = ""
    """The option that makes another node of this one, to compare both: their pods come in the same way."""
    published: "NodeTopology | None" = None
    """It stands for machine, kubelet and state alike."""

    @property
    def overruling(self) -> str:
        """An option that says otherwise than what an agent publishes of its node, if one was given."""
        given = {
            "--agent": self.agent,
            "--machine": self.machines,
            "--device": self.devices,
            "--kubelet": self.kubelet,
            "--kubelet-env": self.kubelet_env,
            "--config-dir": self.config_dir,
            "--kube-version": self.kube_version,
            "--state": self.state,
        }
        return next((name for name, value in given.items() if value), self.compared)

    @property
    def machine_sources(self) -> tuple[str | Source, ...]:
        return (self.agent.machine,) if self.agent is not None and not self.machines else self.machines

    def release(self) -> tuple[KubeVersion, bool]:
        """With whether somebody named it: the option, else the Node object."""
        if self.kube_version is not None:
            return parse_version(self.kube_version), True
        node = self.node()
        if node is not None:
            return node.version(), True
        if self.agent is not None:
            return parse_version(self.agent.version), not self.agent.assumed
        return DEFAULT_VERSION, False

    def kubelet_file(self) -> ConfigFile | None:
        if self.kubelet is not None:
            return ConfigFile(str(self.kubelet), read_text(self.kubelet))
        return self.agent.kubelet if self.agent is not None else None

    def node(self) -> "NodeObject | None":
        """Read by code that most commands do without: they start quicker."""
        if self.node_object is None:
            return None
        from numafit.settings.node_object import read_node

        data = read_bytes(self.node_object)
        return read_node(data, source_name(self.node_object), self.node_name, mixed=self.node_object in self.pods)

    def told(self, node: "NodeObject | None") -> NodeFacts:
        """By the Node object, else by an agent."""
        if node is not None:
            return node.facts()
        return NO_FACTS if self.agent is None else self.agent.facts

    def facts(self, node: "NodeObject | None", machine: Machine) -> NodeFacts:
        """With what was typed."""
        facts = facts_told(self.told(node), self.offers, machine)
        return replace(facts, name=self.node_name) if self.node_name and not facts.name else facts


def source_name(path: Path) -> str:
    return "standard input" if str(path) == "-" else str(path)


def node_options(command: F) -> F:
    """Adds the options, and hands them to the command as one `options: NodeOptions`."""

    @wraps(command)
    def wrapped(
        pods: Sequence[Path],
        machines: Sequence[str],
        kubelet: Path | None,
        config_dir: Path | None,
        kubelet_env: Path | None,
        kube_version: str | None,
        state: Path | None,
        devices: Sequence[str],
        node_name: str,
        all_nodes: bool,
        rejected: bool,
        node_object: Path | None,
        static: Sequence[Path],
        offers: Sequence[str],
        agent: AgentNode | None = None,
        **rest: Any,
    ) -> Any:
        options = NodeOptions(
            pods=tuple(pods),
            machines=tuple(machines),
            kubelet=kubelet,
            config_dir=config_dir,
            kubelet_env=kubelet_env,
            kube_version=kube_version,
            state=state,
            devices=tuple(devices),
            agent=agent,
            node_name=node_name,
            all_nodes=all_nodes,
            rejected=rejected,
            node_object=node_object,
            static=tuple(static),
            offers=tuple(offers),
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
            click.option(
                "--kubelet", type=path, help="Its KubeletConfiguration, /configz answer or ConfigMap (YAML or JSON)."
            ),
            click.option("--config-dir", type=path, help="Folder of drop-in files (*.conf)."),
            click.option("--kubelet-env", type=path, help='File with flags, as in KUBELET_ARGS="--…".'),
            click.option(
                "--kube-version",
                metavar="V",
                help=f"Release of the kubelet; default that of --node-object, else {DEFAULT_VERSION}.",
            ),
            click.option("--state", type=path, help="Start from the state files in this folder."),
            click.option(
                "--device",
                "devices",
                multiple=True,
                metavar="RESOURCE=ID@NUMA,…",
                help="Devices of a plugin; an id without @ has no NUMA node.",
            ),
            click.option("--node-name", default="", help="Of pods that name their node, those of this one only."),
            click.option("--all-nodes", is_flag=True, help="Pods of all nodes, as if they were on this one."),
            click.option("--rejected", is_flag=True, help="Play those again that the kubelet has rejected."),
            click.option(
                "--node-object",
                type=click.Path(path_type=Path, allow_dash=True),
                help="The API server's Node (kubectl get node NAME -o json): labels, taints, disk; and to compare.",
            ),
            click.option(
                "--allocatable",
                "offers",
                multiple=True,
                metavar="RESOURCE=AMOUNT",
                help="What the node has for pods that no machine tells, such as ephemeral-storage=100Gi.",
            ),
            click.option(
                "--static",
                multiple=True,
                metavar="PATH",
                type=path,
                help="A manifest of static pods, or a folder of them; they come after PODS.",
            ),
        )
    ):
        decorated = decorator(decorated)
    return decorated  # type: ignore[no-any-return]
