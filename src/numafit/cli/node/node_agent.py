"""`numafit node-agent`: the truth about this node, published and compared."""

import socket
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from numafit.cli.options.extra import kubernetes_extra
from numafit.cli.options.live import ClusterOptions
from numafit.cluster.orders.words import ORDERS
from numafit.errors import InputError
from numafit.show.records.time import now_text

if TYPE_CHECKING:
    from numafit.cluster.kube.api import KubeApi
    from numafit.cluster.kube.health import ApiHealth

PACKAGES = ("google", "grpc", "httpx2", "lightkube")
"""As they are imported; of the extra `kubernetes`."""
PORT = 9467
NAMESPACE = "numafit"
ON_HOST = "nsenter --target 1 --mount --uts --ipc --net --pid -- systemctl"
STOP, START = f"{ON_HOST} stop kubelet", f"{ON_HOST} start kubelet"


@click.command(
    "node-agent",
    epilog="""\b
Examples:
  numafit node-agent --manifest --image example.com/numafit:1 | kubectl apply -f -
  numafit node-agent --node-name gpu-1 --kubeconfig admin.conf
  numafit node-agent --manifest --image example.com/numafit:1 --allow-switch
  numafit node-agent --node-name gpu-1 --kubelet-config configz --recordings differences""",
)
@click.option(
    "--node-name", envvar="NODE_NAME", metavar="NAME", help="Of this node; default NODE_NAME, else the host name."
)
@click.option(
    "--host-root",
    type=click.Path(path_type=Path),
    default="/",
    show_default=True,
    help="Where the file system of the host is.",
)
@click.option("--kubelet-dir", metavar="DIR", help="The kubelet's root; default as its command line says.")
@click.option(
    "--kubelet-config",
    metavar="FILE",
    help="Its configuration file, or `configz` to ask the API server; default as its command line says.",
)
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="Default the service account of the pod.")
@click.option("--context", metavar="NAME", help="A context of the kubeconfig.")
@click.option("--metrics-port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: no metrics.")
@click.option("--metrics-address", default="127.0.0.1", show_default=True, help="Where metrics and /healthz are.")
@click.option("--recordings", type=click.Path(path_type=Path), help="Keep here what was decided otherwise.")
@click.option("--resource-topology", is_flag=True, help="Publish a NodeResourceTopology, too, where nobody else does.")
@click.option("--allow-switch", is_flag=True, help="Take orders of `numafit node switch --over-agent` for this node.")
@click.option("--stop-command", metavar="COMMAND", help="With --allow-switch: stops the kubelet; default as its host.")
@click.option("--start-command", metavar="COMMAND", help="With --allow-switch: starts it; default as its host.")
@click.option("--manifest", "print_manifest", is_flag=True, help="Print what a cluster needs to run it, and end.")
@click.option("--image", metavar="IMAGE", help="With --manifest: an image with numafit in it.")
@click.option("--namespace", metavar="NAME", help=f"With --manifest or --allow-switch: default {NAMESPACE}.")
def node_agent(
    node_name: str | None,
    host_root: Path,
    kubelet_dir: str | None,
    kubelet_config: str | None,
    kubeconfig: Path | None,
    context: str | None,
    metrics_port: int,
    metrics_address: str,
    recordings: Path | None,
    resource_topology: bool,
    allow_switch: bool,
    stop_command: str | None,
    start_command: str | None,
    print_manifest: bool,
    image: str | None,
    namespace: str | None,
) -> None:
    """Publish how this node stands as a NodeTopology, until told to stop.

    Machine, kubelet and who holds what are learnt on the node itself: from /sys, from the kubelet's command line and
    files, its state files and its PodResources socket. Each decision of the kubelet is compared with what numafit would
    have decided; metrics tell how many were equal. Exit status: 0 told to stop, 2 it could not begin.
    """
    if image is not None and not print_manifest:
        raise InputError("goes with --manifest only", source="--image")
    if namespace is not None and not print_manifest and not allow_switch:
        raise InputError("goes with --manifest or --allow-switch only", source="--namespace")
    for option, value in (("--stop-command", stop_command), ("--start-command", start_command)):
        if value is not None and (print_manifest or not allow_switch):
            raise InputError("goes with --allow-switch only", source=option)
    if print_manifest:
        _print(namespace or NAMESPACE, image, resource_topology=resource_topology, allow_switch=allow_switch)
        return
    name = node_name or socket.gethostname().lower()
    try:
        from numafit.cluster.kube.access import access
        from numafit.cluster.node.agent import AgentOptions
        from numafit.cluster.node.service import MetricsPlace, serve_node
        from numafit.cluster.orders.taker import OrderTaker, TakerOptions
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PACKAGES:
            raise
        why = f"for a node of a cluster the Python package {package} is needed, which is not installed"
        cure = "install numafit with it, in its checkout: pipx install --force '.[kubernetes]'"
        raise InputError(why, cure=cure) from None
    cluster = ClusterOptions(context, kubeconfig)
    options = AgentOptions(
        name, host_root, kubelet_dir or "", kubelet_config or "", recordings, resource_topology=resource_topology
    )
    found = access(cluster.kubeconfig, cluster.context)
    taker = TakerOptions(namespace or NAMESPACE, stop_command or STOP, start_command or START)

    def take_orders(api: "KubeApi", health: "ApiHealth") -> Coroutine[Any, Any, None]:
        return OrderTaker(api, options, taker, health, _say).run()

    place = MetricsPlace(metrics_address, metrics_port)
    serve_node(found, options, place, _say, take_orders if allow_switch else None)


def _print(namespace: str, image: str | None, *, resource_topology: bool, allow_switch: bool) -> None:
    # A node needs none of it.
    with kubernetes_extra("to print it"):
        from numafit.cluster.node.manifest import manifest

    if image is None:
        raise InputError("an image is needed", source="--manifest", cure="name one with numafit in it by --image")
    text = manifest(namespace, image, resource_topology=resource_topology, orders=ORDERS if allow_switch else "")
    click.echo(text, nl=False)


def _say(text: str) -> None:
    """A line of the log."""
    click.echo(f"{now_text()} {' '.join(text.split())}", err=True)
