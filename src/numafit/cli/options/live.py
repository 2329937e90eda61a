"""`--node NAME`: a node of a cluster takes the place of the files that describe one.

What the cluster tells becomes a folder in memory, the first of PODS: it goes the way of one that `numafit node pull`
wrote. What is said by other options counts before it.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
import msgspec

from numafit.cli.held import HeldPath
from numafit.cli.options.extra import kubernetes_extra
from numafit.cluster.case.case import ABOUT, NodeCase
from numafit.errors import InputError

if TYPE_CHECKING:
    from numafit.cluster.kube.access import Access
    from numafit.cluster.kube.client import Client

F = TypeVar("F", bound=Callable[..., Any])


class ClusterOptions(NamedTuple):
    context: str | None = None
    kubeconfig: Path | None = None


def cluster_options(command: F) -> F:
    """Adds `--context` and `--kubeconfig`, and hands them to the command as one `cluster: ClusterOptions`."""
    return _cluster_options(command, "Another one than kubectl's.", "A context of the kubeconfig.")


def node_cluster_options(command: F) -> F:
    """The same for a command that knows a cluster only with `--node`."""
    return _cluster_options(
        command, "With --node: this one; default kubectl's.", "With --node: a context of the kubeconfig."
    )


def _cluster_options(command: F, kubeconfig_help: str, context_help: str) -> F:
    @wraps(command)
    def wrapped(context: str | None, kubeconfig: Path | None, **rest: Any) -> Any:
        return command(cluster=ClusterOptions(context, kubeconfig), **rest)

    decorated: Any = wrapped
    for decorator in (
        click.option("--kubeconfig", type=click.Path(path_type=Path), help=kubeconfig_help),
        click.option("--context", metavar="NAME", help=context_help),
    ):
        decorated = decorator(decorated)
    return decorated  # type: ignore[no-any-return]


def node_name_option(command: F) -> F:
    """Adds `--node`, `--context` and `--kubeconfig`, and hands the node to the command as `live: HeldPath | None`."""

    @wraps(command)
    def wrapped(node: str | None, cluster: ClusterOptions, **rest: Any) -> Any:
        if node is None:
            for name, value in zip(("--context", "--kubeconfig"), cluster, strict=True):
                if value is not None:
                    raise InputError("goes with --node only", source=name)
            return command(live=None, **rest)
        return command(live=held(fetched_case(node, cluster)), **rest)

    option = click.option(
        "--node", metavar="NAME", help="A node of a cluster: its kubelet, its pods and its machine, as the API tells."
    )
    decorated: Any = option(node_cluster_options(wrapped))
    return decorated  # type: ignore[no-any-return]


def live_option(command: F) -> F:
    """Adds `--node`; goes above `node_options`, whose PODS it fills."""

    def wrapped(live: HeldPath | None, pods: tuple[Path, ...], **rest: Any) -> Any:
        return command(pods=pods if live is None else (live, *pods), **rest)

    return node_name_option(wraps(command)(wrapped))  # type: ignore[return-value]


def fetched_case(node: str, cluster: ClusterOptions) -> NodeCase:
    """Raises InputError: no cluster is known, it does not answer, or has no such node."""
    with new_client(cluster) as client:
        # Loaded with the client, on which it stands.
        from numafit.cluster.case.fetch import fetched

        return fetched(client, node)


def new_client(cluster: ClusterOptions) -> "Client":
    """Loads what only a cluster needs."""
    reached = new_access(cluster)
    from numafit.cluster.kube.client import Client

    return Client(reached)


def new_access(cluster: ClusterOptions) -> "Access":
    """Which cluster, as whom. Raises InputError where a package is missing that only a cluster needs."""
    with kubernetes_extra("to ask a cluster"):
        # The client stands on all of them.
        from numafit.cluster.kube.access import access
        from numafit.cluster.kube.client import Client  # noqa: F401
    return access(cluster.kubeconfig, cluster.context)


def held(case: NodeCase) -> HeldPath:
    return HeldPath.folder(f"node {case.about.node}", {**case.files, ABOUT: msgspec.json.encode(case.about)})
