"""`numafit scheduler-config`: what a kube-scheduler needs to ask the extender."""

import click

from numafit.cli.warning import warn
from numafit.cluster.extender.configuration import COST, ExtenderTls, SchedulerConfig, configuration_text
from numafit.cluster.extender.second import second_scheduler as second_manifest
from numafit.errors import InputError

URL = "http://127.0.0.1:9444"
KUBECONFIG = "/etc/kubernetes/scheduler.conf"
NAMESPACE = "numafit"


@click.command(
    "scheduler-config",
    epilog="""\b
Examples:
  numafit scheduler-config > scheduler-config.yaml
  numafit scheduler-config --url https://numafit-extender.numafit.svc:9444 \\
      --authority /etc/numafit/ca.crt \\
      --client-certificate /etc/numafit/tls.crt --client-key /etc/numafit/tls.key
  numafit scheduler-config --second-scheduler numafit \\
      --scheduler-image example.com/kube-scheduler:v1.36.4 \\
      --image example.com/numafit:1 | kubectl apply -f -""",
)
@click.option("--url", metavar="URL", help=f"Where the scheduler finds the extender; default {URL}.")
@click.option(
    "--authority", metavar="FILE", help="With https: of the extender's certificate, as the scheduler sees it."
)
@click.option("--client-certificate", metavar="FILE", help="With https: the scheduler's own, as it sees it.")
@click.option("--client-key", metavar="FILE", help="With https: of that certificate.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.05, 60),
    default=2,
    show_default=True,
    help="Seconds after which the scheduler goes on without an answer.",
)
@click.option("--prioritize", is_flag=True, help="Ask it for an order, too: for an extender that offers several nodes.")
@click.option("--scheduler-kubeconfig", metavar="FILE", help=f"Of the scheduler, as it sees it; default {KUBECONFIG}.")
@click.option("--scheduler", default="default-scheduler", show_default=True, help="The name that pods choose it by.")
@click.option(
    "--second-scheduler", metavar="NAME", help="Print the manifest of another scheduler of this name instead."
)
@click.option("--scheduler-image", metavar="IMAGE", help="With --second-scheduler: kube-scheduler of your release.")
@click.option("--image", metavar="IMAGE", help="With --second-scheduler: an image with numafit in it.")
@click.option(
    "--offer", metavar="N", help="With --second-scheduler: nodes that its extender offers; default 1, or all."
)
@click.option("--namespace", metavar="NAME", help=f"With --second-scheduler: default {NAMESPACE}.")
def scheduler_config(
    url: str | None,
    authority: str | None,
    client_certificate: str | None,
    client_key: str | None,
    timeout: float,
    prioritize: bool,
    scheduler_kubeconfig: str | None,
    scheduler: str,
    second_scheduler: str | None,
    scheduler_image: str | None,
    image: str | None,
    offer: str | None,
    namespace: str | None,
) -> None:
    """Print the KubeSchedulerConfiguration of a scheduler that asks `numafit extender`.

    Give it to kube-scheduler by --config. Exit status: 0, or 2 where something does not go together.
    """
    tls_files = {"--authority": authority, "--client-certificate": client_certificate, "--client-key": client_key}
    if second_scheduler is not None:
        of_first = {"--url": url, "--scheduler-kubeconfig": scheduler_kubeconfig, **tls_files}
        _refused(of_first, "does not go with --second-scheduler, which has its extender in its own pod")
        if not scheduler_image or not image:
            cure = "name them by --scheduler-image and --image"
            raise InputError(
                "the images of kube-scheduler and of numafit are needed", source="--second-scheduler", cure=cure
            )
        if offer is not None and offer != "all" and not (offer.isdecimal() and int(offer) > 0):
            raise InputError(f"neither a number nor all: {offer}", source="--offer")
        text = second_manifest(second_scheduler, namespace or NAMESPACE, scheduler_image, image, offer=offer or "1")
        click.echo(text, nl=False)
        warn(COST)
        return
    of_second = {"--scheduler-image": scheduler_image, "--image": image, "--offer": offer, "--namespace": namespace}
    _refused(of_second, "goes with --second-scheduler only")
    tls = None
    if authority or client_certificate or client_key:
        if not (authority and client_certificate and client_key):
            lacking = next(name for name, value in tls_files.items() if not value)
            raise InputError("is missing; the three files go together", source=lacking)
        tls = ExtenderTls(authority, client_certificate, client_key)
    access = KUBECONFIG if scheduler_kubeconfig is None else scheduler_kubeconfig
    config = SchedulerConfig(url or URL, tls, timeout, prioritize=prioritize, kubeconfig=access, scheduler=scheduler)
    click.echo(configuration_text(config), nl=False)
    warn(COST)


def _refused(options: dict[str, str | None], why: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise InputError(why, source=name)
