"""`numafit serve`: the agent with its page, its API and its metrics."""

import socket
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from numafit.cli.files import read_text
from numafit.cli.options.facts import facts_told
from numafit.cli.options.lease import state_option
from numafit.cli.options.live import ClusterOptions, held, new_access, new_client, node_cluster_options
from numafit.cli.warning import warn
from numafit.cluster.case.case import NODE
from numafit.errors import InputError, NeedsLinuxError
from numafit.settings.versions import DEFAULT_VERSION, parse_version

if TYPE_CHECKING:
    from numafit.service.api.guard import Rules
    from numafit.service.node import NodeSource
    from numafit.service.server import Served


SHORTEST_TOKEN = 16
CONFIG = "config.yaml"
"""Where kubeadm puts the configuration in the kubelet's folder."""


@click.command(
    epilog="""\b
Examples:
  numafit serve --demo
  numafit serve --demo dgx-h100 --port 8080
  numafit serve --kubelet-dir /var/lib/kubelet --config /var/lib/kubelet/config.yaml
  numafit serve --node gpu-1 --context production
  numafit serve --fleet --context production
  numafit serve --socket /run/numafit.sock"""
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8470, show_default=True, help="0 takes a free one.")
@click.option("--socket", "socket_path", type=click.Path(path_type=Path), help="Listen on this unix socket as well.")
@click.option("--demo", is_flag=False, flag_value="", metavar="[NAME]", help="Simulate a machine of the catalogue.")
@click.option("--kubelet-dir", type=click.Path(path_type=Path), help="Watch the state files of a kubelet.")
@click.option("--node", metavar="NAME", help="A node of a cluster, with the pods that the API tells of.")
@click.option("--fleet", is_flag=True, help="All nodes of a cluster, who waits there, and who is rejected.")
@node_cluster_options
@click.option("--config", type=click.Path(path_type=Path), help="With --kubelet-dir or --node: its configuration.")
@click.option("--machine", "specs", multiple=True, metavar="SPEC", help="With --kubelet-dir or --node: its machine.")
@click.option("--kube-version", default=None, metavar="V", help="With --kubelet-dir or --node: its release.")
@click.option(
    "--node-object", type=click.Path(path_type=Path), help="With --kubelet-dir: its Node (labels, taints, disk)."
)
@state_option
@click.option("--token-file", type=click.Path(path_type=Path), help="File with the token that requests must bring.")
@click.option("--access-log", is_flag=True, help="Write a line for each request to standard error.")
@click.option("--allow-writes", is_flag=True, help="Take and release leases by TCP too, with the token.")
def serve(
    host: str,
    port: int,
    socket_path: Path | None,
    demo: str | None,
    kubelet_dir: Path | None,
    node: str | None,
    fleet: bool,
    cluster: ClusterOptions,
    config: Path | None,
    specs: tuple[str, ...],
    kube_version: str | None,
    node_object: Path | None,
    folder: Path | None,
    token_file: Path | None,
    access_log: bool,
    allow_writes: bool,
) -> None:
    """Show a machine and who sits where on it, in a page and by an HTTP API, until told to stop.

    Shown is this machine with its leases, a simulated one (--demo), the node of a kubelet (--kubelet-dir), or a node of
    a cluster (--node), which is asked every few seconds for its pods and for what numafit's agent there publishes; or
    all nodes of a cluster (--fleet), each of which opens to such a page. Exit status: 0 stopped by SIGTERM or Ctrl-C, 2
    it cannot start.
    """
    if demo is None and kubelet_dir is None and node is None and not fleet and sys.platform != "linux":
        raise NeedsLinuxError("`numafit serve` without --demo, --kubelet-dir, --node or --fleet")
    from numafit.service.api.guard import Rules
    from numafit.service.app import Agent
    from numafit.service.server import require_token, tcp_socket, unix_socket
    from numafit.service.server import serve as listen

    token = _token(token_file)
    require_token(host, token)
    if allow_writes and not token:
        raise InputError("writes by TCP need a token", source="--allow-writes", cure="give one with --token-file")
    what = {"--demo": demo, "--kubelet-dir": kubelet_dir, "--node": node, "--fleet": fleet or None}
    _refuse_several(what, config or specs or kube_version, cluster)
    if node_object is not None and kubelet_dir is None:
        raise InputError("goes with --kubelet-dir only", source="--node-object")
    rules = Rules(host, token, allow_writes, access_log)
    if fleet:
        make, shown = _fleet(cluster, rules)
    else:
        if node is not None:
            source = _cluster_node(node, cluster, config, specs, kube_version)
        else:
            source = _source(demo, kubelet_dir, config, specs, kube_version, node_object, folder)
        make = partial(Agent, source, rules)
        shown = f"{source.place.name} (simulated)" if source.place.simulation else source.place.name
    sockets = [tcp_socket(host, port)]
    place = f"[{host}]" if ":" in host else host
    addresses = [f"http://{place}:{sockets[0].getsockname()[1]}/"]
    if socket_path is not None:
        sockets.append(unix_socket(socket_path))
        addresses.append(str(socket_path))
    try:
        listen(make, sockets, lambda: click.echo(f"numafit shows {shown} at {' and '.join(addresses)}"))
    finally:
        if socket_path is not None:
            socket_path.unlink(missing_ok=True)


def _refuse_several(what: Mapping[str, object], description: object, cluster: ClusterOptions) -> None:
    first, *others = [name for name, value in what.items() if value is not None] or [""]
    if others:
        raise InputError(f"does not go with {others[0]}", source=first, cure="leave one of both away")
    if description and first not in ("--kubelet-dir", "--node"):
        raise InputError("--config, --machine and --kube-version go with --kubelet-dir or --node only")
    if first not in ("--node", "--fleet") and cluster != ClusterOptions():
        raise InputError("--context and --kubeconfig go with --node or --fleet only")


def _fleet(cluster: ClusterOptions, rules: "Rules") -> "tuple[Callable[[], Served], str]":
    """How to make it, and what is shown."""
    found = new_access(cluster)
    from numafit.service.fleet.app import FleetAgent

    def opened(name: str) -> "NodeSource":
        return _cluster_node(name, cluster, None, (), None)

    return lambda: FleetAgent(found, opened, rules), f"the cluster {found.cluster.server}"


def _source(
    demo: str | None,
    kubelet_dir: Path | None,
    config: Path | None,
    specs: tuple[str, ...],
    version: str | None,
    node_object: Path | None,
    folder: Path | None,
) -> "NodeSource":
    if demo is not None:
        from numafit.service.sources.demo import DEFAULT_MACHINE, Demo

        return Demo(demo or DEFAULT_MACHINE)
    if kubelet_dir is not None:
        return _kubelet_node(kubelet_dir, config, specs, version, node_object)
    from numafit.service.sources.host import HostSource

    return HostSource(folder)


def _kubelet_node(
    folder: Path, config: Path | None, specs: tuple[str, ...], version: str | None, node_object: Path | None
) -> "NodeSource":
    from numafit.cli.options.machine import resolve_machine
    from numafit.host.meter import Meter
    from numafit.service.sources.kubelet import KubeletNode

    if not folder.is_dir():
        raise InputError("is not a folder", source=str(folder), cure="name the kubelet's root, like /var/lib/kubelet")
    file = config or folder / CONFIG
    if config is None and not file.exists():
        raise InputError(f"there is no {CONFIG} in it", source=str(folder), cure="name the configuration with --config")
    machine = resolve_machine(specs).machine
    # Without a machine that is told it is this one.
    name, meter = ("", None) if specs else (socket.gethostname(), Meter(machine))
    if node_object is None:
        release = str(parse_version(version or str(DEFAULT_VERSION)))
        return KubeletNode(folder, machine, read_text(file), release, name=name, meter=meter)
    from numafit.settings.node_object import read_node, with_total_memory

    node = read_node(read_text(node_object), str(node_object))
    machine = with_total_memory(machine, node)
    release = str(parse_version(version) if version else node.version())
    facts = facts_told(node.facts(), (), machine)
    return KubeletNode(folder, machine, read_text(file), release, facts=facts, name=facts.name or name, meter=meter)


def _cluster_node(
    name: str, cluster: ClusterOptions, config: Path | None, specs: tuple[str, ...], version: str | None
) -> "NodeSource":
    from numafit.cli.options.case import case_parts
    from numafit.cli.options.machine import resolve_machine
    from numafit.cluster.topology.compare import machine_source
    from numafit.settings.node_object import read_node, with_total_memory

    client = new_client(cluster)
    from numafit.cluster.case.fetch import fetched, pods_of, published_of
    from numafit.service.sources.cluster import ReplayedNode
    from numafit.service.sources.published import PublishedNode

    case = fetched(client, name)
    parts = case_parts(held(case))
    for note in parts.notes:
        warn(f"{note.about}: {note.text}")
    node = read_node(case.files[NODE], str(parts.node))
    told = parts.published
    if told is not None and not (config or specs or version):
        facts = facts_told(node.facts(), (), machine_source(told).machine)
        return PublishedNode(told, lambda: published_of(client, name), lambda: pods_of(client, name), facts)
    file = config or parts.kubelet_told
    if file is None:
        raise InputError(f"the configuration of node {name} is not known", cure="give it with --config")
    machine = with_total_memory(resolve_machine(specs or (parts.machine_source(),)).machine, node)
    release = parse_version(version) if version else node.version()
    facts = facts_told(node.facts(), (), machine)
    return ReplayedNode(f"node {name}", machine, read_text(file), str(release), lambda: pods_of(client, name), facts)


def _token(path: Path | None) -> str:
    if path is None:
        return ""
    token = read_text(path).strip()
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise InputError(
            f"a token has at least {SHORTEST_TOKEN} printable characters",
            source=str(path),
            cure="make one with: openssl rand -hex 32",
        )
    return token
