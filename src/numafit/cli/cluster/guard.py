"""`numafit guard`: owners whose pods are rejected again and again wait, and are told why."""

import os
import socket
from pathlib import Path

import click

from numafit.cli.options.extra import kubernetes_extra
from numafit.cli.options.one_of import OneOf
from numafit.errors import InputError
from numafit.show.records.time import now_text

PORT = 9469
NAMESPACE = "numafit"


@click.command(
    epilog="""\b
Examples:
  numafit guard
  numafit guard --manifest --image example.com/numafit:1 --enforce | kubectl apply -f -
  numafit guard --enforce --context test
  numafit guard --release-all""",
)
@click.option("--enforce", is_flag=True, help="Hold, release and remove pods; default is to tell only.")
@click.option(
    "--by", type=OneOf(["policy", "webhook"]), default="policy", show_default=True, help="What adds the gate."
)
@click.option("--opt-in", is_flag=True, help="Only namespaces with the label numafit.io/guard=enabled.")
@click.option("--release-all", is_flag=True, help="Remove the gate from all pods that have it, and end.")
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="Default that of kubectl, or the pod's account.")
@click.option("--context", metavar="NAME", help="A context of the kubeconfig.")
@click.option("--namespace", metavar="NAME", default=NAMESPACE, show_default=True, help="Where its ConfigMap lies.")
@click.option("--identity", metavar="NAME", envvar="POD_NAME", help="Of this replica; default POD_NAME, else by host.")
@click.option("--metrics-port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: no metrics.")
@click.option("--metrics-address", default="127.0.0.1", show_default=True, help="Where metrics and /readyz are.")
@click.option("--url", metavar="URL", default="", help="With --by webhook: the API server asks here, not by a Service.")
@click.option("--address", default="0.0.0.0", show_default=True, help="With --by webhook: where it listens.")
@click.option("--port", type=click.IntRange(1, 65535), default=9443, show_default=True)
@click.option("--manifest", "print_manifest", is_flag=True, help="Print what a cluster needs to run it, and end.")
@click.option("--image", metavar="IMAGE", help="With --manifest: an image with numafit in it.")
@click.option("--jobs", is_flag=True, help="With --manifest: rejected pods of Jobs get the condition DisruptionTarget.")
def guard(
    enforce: bool,
    by: str,
    opt_in: bool,
    release_all: bool,
    kubeconfig: Path | None,
    context: str | None,
    namespace: str,
    identity: str | None,
    metrics_port: int,
    metrics_address: str,
    url: str,
    address: str,
    port: int,
    print_manifest: bool,
    image: str | None,
    jobs: bool,
) -> int:
    """Watch for owners whose pods kubelets reject again and again, until told to stop.

    Rejected pods are explained by events, on the pod and on its owner. With --enforce, from the third rejection within
    a minute the next pods of that owner wait behind a scheduling gate, until a node can take one or patience has run
    out, and old rejected pods are removed. Exit status: 0 told to stop, 2 it could not begin.
    """
    for option, given in (("--image", image is not None), ("--jobs", jobs)):
        if given and not print_manifest:
            raise InputError("goes with --manifest only", source=option)
    if release_all and (enforce or print_manifest):
        raise InputError("is done alone", source="--release-all")
    with kubernetes_extra("for a cluster"):
        from numafit.cluster.guard.guard import GuardOptions
        from numafit.cluster.guard.manifest import guard_manifest
        from numafit.cluster.guard.service import (
            GuardProcess,
            WebhookPlace,
            guard_webhook,
            open_everything,
            serve_guard,
        )
        from numafit.cluster.kube.access import access
        from numafit.cluster.kube.probes import ProbePlace
    options = GuardOptions(namespace, enforce, by == "policy", opt_in)
    place = WebhookPlace(address, port, url)
    if print_manifest:
        if image is None:
            raise InputError("an image is needed", source="--manifest", cure="name one with numafit in it by --image")
        webhook = guard_webhook(options, place) if by == "webhook" and enforce else None
        text = guard_manifest(namespace, image, enforce=enforce, jobs=jobs, opt_in=opt_in, webhook=webhook)
        click.echo(text, nl=False)
        return 0
    found = access(kubeconfig, context)
    if release_all:
        done, failed = open_everything(found, namespace)
        click.echo(f"{done} released" + (f", {failed} could not be" if failed else ""))
        return 2 if failed else 0
    name = identity or f"{socket.gethostname().lower()}-{os.getpid()}"
    serve_guard(found, GuardProcess(options, name, ProbePlace(metrics_address, metrics_port), place), _say)
    return 0


def _say(text: str) -> None:
    """A line of the log."""
    click.echo(f"{now_text()} {' '.join(text.split())}", err=True)
