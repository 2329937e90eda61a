"""What the commands about a cluster share: which one, which namespace, one look at it, and what one may not see."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from numafit.cli.options.answer import say
from numafit.cli.options.live import ClusterOptions, cluster_options, new_client
from numafit.cli.options.one_of import OneOf
from numafit.cli.terminal import warn
from numafit.cluster.view.rights import TOPOLOGIES_RIGHT, role_text
from numafit.show.json import json_text
from numafit.show.table import Screen

if TYPE_CHECKING:
    from numafit.cluster.kube.client import Client
    from numafit.cluster.view.seen import ClusterView

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT = "default"


class Look(NamedTuple):
    """Who asks what."""

    cluster: ClusterOptions
    namespace: str | None
    """None: nobody named one."""
    output: str

    def client(self) -> "Client":
        return new_client(self.cluster)

    def namespace_of(self, client: "Client") -> str:
        """As kubectl chooses it: the option, else that of the context."""
        return self.namespace or client.access.namespace or DEFAULT

    def view(self, client: "Client", *, pods: bool = True) -> "ClusterView":
        """Loads what only a cluster needs."""
        from numafit.cluster.view.reading import read_cluster

        return read_cluster(client, namespace=self.namespace_of(client), pods=pods)

    def say(self, view: "ClusterView", said: Callable[[Screen], str], record: Callable[[], object]) -> None:
        """The answer, with what could not be seen; and the rule that would let one see it, on standard error."""
        if self.output == "json":
            click.echo(json_text(record()))
        else:
            say(said, view.notes)
        tell_rights(view)

    def blind(self, view: "ClusterView") -> bool:
        """Whether no node can be known for want of a right, which is said: then there is no answer."""
        if TOPOLOGIES_RIGHT not in view.missing:
            return False
        warn(f"you may not list {TOPOLOGIES_RIGHT.resource} of {TOPOLOGIES_RIGHT.group}: how nodes stand is not known")
        tell_rights(view)
        return True


def tell_rights(view: "ClusterView") -> None:
    if view.missing:
        head = "Whoever may give rights can add these with `kubectl apply -f`:"
        click.echo(f"\n{head}\n\n{role_text(view.missing)}", err=True)


def look_options(command: F) -> F:
    """Adds `-n`, `--context`, `--kubeconfig` and `-o`, and hands them to the command as one `look: Look`."""

    @wraps(command)
    def wrapped(cluster: ClusterOptions, namespace: str | None, output: str, **rest: Any) -> Any:
        return command(look=Look(cluster, namespace, output), **rest)

    decorated: Any = cluster_options(wrapped)
    for decorator in (
        click.option("-n", "--namespace", metavar="NAME", help="Another namespace than that of the context."),
        click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True),
    ):
        decorated = decorator(decorated)
    return decorated  # type: ignore[no-any-return]
