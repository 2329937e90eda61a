"""`numafit place`: pods that need exact room wait until a node has it, and go there only."""

import os
import socket
from pathlib import Path

import click

from numafit.cli.options.extra import kubernetes_extra
from numafit.cli.options.live import ClusterOptions, new_access
from numafit.cli.options.one_of import OneOf
from numafit.errors import InputError
from numafit.show.records.time import now_text

NAMESPACE, SERVICE = "numafit", "numafit-place"
PORT, METRICS_PORT = 9443, 9468


@click.command(
    epilog="""\b
Examples:
  numafit place --manifest --image example.com/numafit:1 | kubectl apply -f -
  numafit place --kubeconfig admin.conf --url https://10.0.0.5:9443
  numafit place --manifest --image example.com/numafit:1 --opt-in --scale
  numafit place --ungate""",
)
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="Default the service account of the pod.")
@click.option("--context", metavar="NAME", help="A context of the kubeconfig.")
@click.option("--namespace", metavar="NAME", default=NAMESPACE, show_default=True, help="Where its own objects are.")
@click.option("--service", metavar="NAME", default=SERVICE, show_default=True, help="By which it is asked.")
@click.option("--url", metavar="URL", default="", help="The API server asks here, and not by the Service.")
@click.option("--address", default="0.0.0.0", show_default=True, help="Where it listens for the API server.")
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True)
@click.option(
    "--names", type=click.IntRange(1, 64), default=8, show_default=True, help="Nodes that a pod is offered at most."
)
@click.option(
    "--scale",
    is_flag=True,
    help="Release what no known node has room for, for nodes that an autoscaler adds.",
)
@click.option("--opt-in", is_flag=True, help="Only namespaces with the label numafit.io/place=enabled.")
@click.option(
    "--reserve-seconds",
    type=click.FloatRange(0),
    default=600.0,
    show_default=True,
    help="So long a node is kept for a large pod that waits; 0: none is.",
)
@click.option(
    "--unknown-nodes",
    type=OneOf(["last", "never"]),
    default="last",
    show_default=True,
    help="Nodes without a NodeTopology: offered where no other fits, or not at all.",
)
@click.option(
    "--guard",
    type=OneOf(["off", "dry-run", "on"]),
    default="dry-run",
    show_default=True,
    help="The loop guard beside it: not at all, it tells only, or it holds pods.",
)
@click.option(
    "--metrics-address", default="127.0.0.1", show_default=True, help="Where metrics, /readyz and /livez are."
)
@click.option(
    "--metrics-port", type=click.IntRange(0, 65535), default=METRICS_PORT, show_default=True, help="0: no metrics."
)
@click.option("--identity", metavar="NAME", default="", help="Of this replica; default the host name and a number.")
@click.option("--manifest", "print_manifest", is_flag=True, help="Print what a cluster needs to run it, and end.")
@click.option("--image", metavar="IMAGE", help="With --manifest: an image with numafit in it.")
@click.option("--jobs", is_flag=True, help="With --manifest: rejected pods of Jobs get the condition DisruptionTarget.")
@click.option(
    "--ungate", is_flag=True, help="Remove its webhook and release all pods that wait, and end: for its removal."
)
def place(
    kubeconfig: Path | None,
    context: str | None,
    namespace: str,
    service: str,
    url: str,
    address: str,
    port: int,
    names: int,
    scale: bool,
    opt_in: bool,
    reserve_seconds: float,
    unknown_nodes: str,
    guard: str,
    metrics_address: str,
    metrics_port: int,
    identity: str,
    print_manifest: bool,
    image: str | None,
    jobs: bool,
    ungate: bool,
) -> None:
    """Let pods that need exact room wait until a node has it, and send them there only.

    A webhook gates pods whose CPUs, memory or devices have to be aligned. One leader finds the nodes that admit them,
    names these in the pod and removes the gate; the scheduler does the rest. Where it does not run, pods are scheduled
    as ever. Exit status: 0 told to stop, 2 it could not begin.
    """
    for option, given in (("--image", image is not None), ("--jobs", jobs)):
        if given and not print_manifest:
            raise InputError("goes with --manifest only", source=option)
    with kubernetes_extra("to place pods"):
        from numafit.cluster.admission.options import WebhookOptions
        from numafit.cluster.guard.beside import guard_beside, hold_questions
        from numafit.cluster.guard.counts import GuardCollector, GuardCounts
        from numafit.cluster.guard.guard import GuardOptions
        from numafit.cluster.guard.manifest import cluster_rules, own_rules
        from numafit.cluster.guard.policies import policies
        from numafit.cluster.kube.probes import ProbePlace
        from numafit.cluster.place.manifest import PlaceManifest
        from numafit.cluster.place.placer import PlacerOptions
        from numafit.cluster.place.process import PlaceProcess, serve_place
        from numafit.cluster.place.ungate import ungate_all
    also = hold_questions(enforce=guard == "on", opt_in=opt_in)
    webhook = WebhookOptions(namespace, service, url, address, port, opt_in=opt_in, also=also)
    if print_manifest:
        if image is None:
            raise InputError("an image is needed", source="--manifest", cure="name one with numafit in it by --image")
        said = {
            "--names": names != 8 and names,
            "--reserve-seconds": reserve_seconds != 600 and f"{reserve_seconds:g}",
            "--unknown-nodes": unknown_nodes != "last" and unknown_nodes,
            "--guard": guard != "dry-run" and guard,
            "--url": url,
        }
        arguments = [f"{option}={value}" for option, value in said.items() if value is not False and value != ""]
        arguments += [option for option, on in (("--scale", scale), ("--opt-in", opt_in)) if on]
        more = (cluster_rules(enforce=guard == "on"), own_rules(enforce=guard == "on")) if guard != "off" else ((), ())
        objects = policies(namespace, opt_in=opt_in, hold=False, jobs=jobs)
        click.echo(PlaceManifest(webhook, image, metrics_port, arguments, more, objects).text(), nl=False)
        return
    found = new_access(ClusterOptions(context, kubeconfig))
    if ungate:
        click.echo(f"{ungate_all(found, webhook, _say)} pods were released")
        return
    identity = identity or f"{socket.gethostname()}-{os.getpid()}"
    placer = PlacerOptions(names, scale, unknown_nodes == "last", reserve_seconds, identity)
    process = PlaceProcess(webhook, placer, ProbePlace(metrics_address, metrics_port))
    if guard == "off":
        serve_place(found, process, _say)
        return
    counts = GuardCounts()
    options = GuardOptions(namespace, guard == "on", by_policy=False, opt_in=opt_in, alone=False)
    serve_place(found, process, _say, guard_beside(options, counts, _say), (GuardCollector(counts),))


def _say(text: str) -> None:
    """A line of the log."""
    click.echo(f"{now_text()} {' '.join(text.split())}", err=True)
