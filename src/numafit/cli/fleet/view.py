"""What the commands about a cluster share: which one, which namespace, one look at it, and what one may not see."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from numafit.cli.options.answer import NOT_SURE, say
from numafit.cli.options.live import ClusterOptions, cluster_options, new_client
from numafit.cli.options.one_of import OneOf
from numafit.cli.warning import warn
from numafit.cluster.view.rights import NO_AGENT, role_text
from numafit.errors import ApiServerError
from numafit.show.json import json_text
from numafit.show.table import Screen

if TYPE_CHECKING:
    from numafit.cluster.kube.client import Client
    from numafit.cluster.view.seen import ClusterView

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT = "default"
GIVE_THESE = "Whoever may give rights can paste this into `kubectl apply -f -`:"


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
        self.tell_rights(view)

    def blind(self, view: "ClusterView", *, pods: bool = False) -> bool:
        """Whether nothing can be known of nodes, or `pods` of pods, which is said: then there is no answer."""
        if not view.sightless and not (pods and view.podless):
            return False
        warn(f"how nodes stand is not known: {view.sightless}" if view.sightless else "you may not list pods")
        if not view.missing:
            warn(NO_AGENT)
        self.tell_rights(view)
        return True

    def tell_rights(self, view: "ClusterView") -> None:
        if view.missing:
            tell_role()


def tell_role() -> None:
    click.echo(f"\n{GIVE_THESE}\n\n{role_text()}", err=True)


def look_options(command: F) -> F:
    """Adds `-n`, `--context`, `--kubeconfig` and `-o`, and hands them to the command as one `look: Look`."""

    @wraps(command)
    def wrapped(cluster: ClusterOptions, namespace: str | None, output: str, **rest: Any) -> Any:
        try:
            return command(look=Look(cluster, namespace, output), **rest)
        except ApiServerError as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            warn(f"{error.source}: {error.message}")
            tell_role()
            return NOT_SURE

    decorated: Any = cluster_options(wrapped)
    for decorator in (
        click.option("-n", "--namespace", metavar="NAME", help="Another namespace than that of the context."),
        click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True),
    ):
        decorated = decorator(decorated)
    return decorated  # type: ignore[no-any-return]
