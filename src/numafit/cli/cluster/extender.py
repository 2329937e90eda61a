"""`numafit extender`: the nodes that would admit a pod, for a kube-scheduler that asks."""

from pathlib import Path

import click

from numafit.cli.options.live import ClusterOptions, cluster_options, new_access
from numafit.errors import InputError
from numafit.show.records.time import now_text

PORT, METRICS_PORT = 9444, 9470
LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"
ALL = "all"


@click.command(
    epilog="""\b
Examples:
  numafit extender --kubeconfig /etc/kubernetes/numafit.conf
  numafit extender --certificate tls.crt --key tls.key --client-ca ca.crt
  numafit extender --offer 8 --prioritize""",
)
@cluster_options
@click.option("--address", help=f"Where schedulers ask; default {LOOPBACK}, with certificates {EVERYWHERE}.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: any one.")
@click.option("--certificate", type=click.Path(path_type=Path), metavar="FILE", help="What schedulers are shown.")
@click.option("--key", type=click.Path(path_type=Path), metavar="FILE", help="Of that certificate.")
@click.option(
    "--client-ca", type=click.Path(path_type=Path), metavar="FILE", help="Whose certificates let a scheduler in."
)
@click.option("--offer", default="1", metavar="N|all", show_default=True, help="Nodes that a pod is offered at once.")
@click.option("--prioritize", is_flag=True, help="Tell the order of the nodes, too, where several are offered.")
@click.option(
    "--offer-seconds",
    type=click.FloatRange(1, 3600),
    default=60,
    show_default=True,
    help="An offer that is neither bound nor asked about again counts so long.",
)
@click.option(
    "--metrics-port", type=click.IntRange(0, 65535), default=METRICS_PORT, show_default=True, help="0: no metrics."
)
@click.option("--metrics-address", default=LOOPBACK, show_default=True, help="Where /metrics, /readyz and /livez are.")
def extender(
    cluster: ClusterOptions,
    address: str | None,
    port: int,
    certificate: Path | None,
    key: Path | None,
    client_ca: Path | None,
    offer: str,
    prioritize: bool,
    offer_seconds: float,
    metrics_port: int,
    metrics_address: str,
) -> None:
    """Answer kube-schedulers that ask which nodes would admit a pod, until told to stop.

    A scheduler asks it by the configuration that `numafit scheduler-config` prints. Without certificates it answers on
    loopback only. Pods of which no kubelet keeps CPUs, memory or devices apart pass untouched, and so do all while it
    does not know the cluster. Exit status: 0 told to stop, 2 it could not begin.
    """
    number = _offer(offer)
    files = {"--certificate": certificate, "--key": key, "--client-ca": client_ca}
    if any(files.values()) and not all(files.values()):
        lacking = next(name for name, value in files.items() if value is None)
        raise InputError("is missing; the three files go together", source=lacking)
    found = new_access(cluster)
    # Loaded with the packages that only a cluster needs, which are there now.
    from numafit.cluster.extender.extender import ExtenderOptions
    from numafit.cluster.extender.service import ExtenderPlace, serve_extender
    from numafit.cluster.https.certificates import ServingFiles
    from numafit.cluster.kube.probes import ProbePlace

    shown = None
    if certificate is not None and key is not None:
        shown = ServingFiles(certificate, key, client_ca)
    place = ExtenderPlace(
        address or (EVERYWHERE if shown else LOOPBACK),
        port,
        shown,
        prioritize=prioritize,
        probes=ProbePlace(metrics_address, metrics_port),
    )
    serve_extender(found, place, ExtenderOptions(number, offer_seconds), _say)


def _offer(text: str) -> int | None:
    if text == ALL:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise InputError(f"neither a number from 1 to 10000 nor {ALL}: {text}", source="--offer")
    return int(text)


def _say(text: str) -> None:
    """A line of the log."""
    click.echo(f"{now_text()} {' '.join(text.split())}", err=True)
