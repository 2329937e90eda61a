"""Which API server is asked, and as whom: from a kubeconfig, or inside a pod from its service account.

As kubectl does it: `--kubeconfig`, else the files that KUBECONFIG lists, else `~/.kube/config`; of an entry that stands
in several files the first counts, and relative paths are relative to the file that they stand in. Where there is none
of these files, the service account of a pod is used.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from lightkube.config.kubeconfig import SERVICE_ACCOUNT
from lightkube.config.models import Cluster, Context, User
from msgspec.structs import replace

from numafit.cluster.kube.plugin import ExecPlugin
from numafit.document import read_documents
from numafit.errors import MOST_NAMED, InputError, meant_or_there, some_of

DEFAULT_FILE = "~/.kube/config"
HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"
FIRST_STEPS = "log in to a cluster so that kubectl works, or name a file with --kubeconfig"


class ClusterEntry(Cluster, omit_defaults=True):
    tls_server_name: str | None = msgspec.field(name="tls-server-name", default=None)
    proxy_url: str | None = msgspec.field(name="proxy-url", default=None)


class UserEntry(User, omit_defaults=True):
    exec: ExecPlugin | None = None
    acts_as: str | None = msgspec.field(name="as", default=None)
    acts_as_groups: list[str] | None = msgspec.field(name="as-groups", default=None)


class NamedCluster(msgspec.Struct):
    name: str
    cluster: ClusterEntry


class NamedUser(msgspec.Struct):
    name: str
    user: UserEntry | None = None


class NamedContext(msgspec.Struct):
    name: str
    context: Context


class Kubeconfig(msgspec.Struct, frozen=True):
    """One file, or several merged into one."""

    current: str | None = msgspec.field(name="current-context", default=None)
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None


class Access(msgspec.Struct, frozen=True):
    place: str
    """What it comes from, in words."""
    cluster: ClusterEntry
    user: UserEntry
    user_name: str = ""
    namespace: str = ""
    """The one that is meant where nobody names one; empty: `default`."""


def access(
    kubeconfig: Path | None,
    context: str | None,
    environment: Mapping[str, str] = os.environ,
    service_account: Path = Path(SERVICE_ACCOUNT),
) -> Access:
    """Raises InputError where no cluster is known."""
    if kubeconfig is not None:
        paths, named = [kubeconfig], True
    elif environment.get("KUBECONFIG"):
        paths, named = [Path(part) for part in environment["KUBECONFIG"].split(os.pathsep) if part], False
    else:
        # Who runs in a pod may have no home, or one that is not theirs: then nothing is there.
        paths, named = [Path(os.path.expanduser(DEFAULT_FILE))], False
    present = paths if named else [path for path in paths if os.path.exists(path)]
    if present:
        return _chosen(merged([read_kubeconfig(path) for path in present]), context, _names(present))
    if context is None and environment.get(HOST) and (service_account / "token").exists():
        return _in_cluster(environment, service_account)
    why = f"there is no kubeconfig at {_names(paths)}"
    where = "" if environment.get(HOST) else ", and this is no pod of a cluster"
    raise InputError(f"no cluster is known: {why}{where}", cure=FIRST_STEPS)


def read_kubeconfig(path: Path) -> Kubeconfig:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=str(path), cure=FIRST_STEPS) from None
    documents = read_documents(data, str(path))
    if not documents:
        return Kubeconfig()
    try:
        found = msgspec.convert(documents[0].value, Kubeconfig)
    except msgspec.ValidationError as error:
        raise InputError(f"is no kubeconfig: {error}", source=str(path)) from None
    folder = path.absolute().parent
    for cluster in found.clusters or ():
        cluster.cluster = replace(cluster.cluster, certificate_auth=_from(folder, cluster.cluster.certificate_auth))
    for user in found.users or ():
        user.user = _user_from(folder, user.user or UserEntry())
    return found


def merged(files: Sequence[Kubeconfig]) -> Kubeconfig:
    clusters: dict[str, NamedCluster] = {}
    users: dict[str, NamedUser] = {}
    contexts: dict[str, NamedContext] = {}
    for file in files:
        for cluster in file.clusters or ():
            clusters.setdefault(cluster.name, cluster)
        for user in file.users or ():
            users.setdefault(user.name, user)
        for context in file.contexts or ():
            contexts.setdefault(context.name, context)
    current = next((file.current for file in files if file.current), None)
    return Kubeconfig(current, list(clusters.values()), list(users.values()), list(contexts.values()))


def _user_from(folder: Path, user: UserEntry) -> UserEntry:
    plugin = user.exec
    if plugin is not None and "/" in plugin.command:
        plugin = replace(plugin, command=str(folder / plugin.command))
    return replace(
        user,
        client_cert=_from(folder, user.client_cert),
        client_key=_from(folder, user.client_key),
        token_file=_from(folder, user.token_file),
        exec=plugin,
    )


def _from(folder: Path, name: str | None) -> str | None:
    return str(folder / name) if name else None


def _chosen(config: Kubeconfig, context: str | None, source: str) -> Access:
    contexts = {entry.name: entry.context for entry in config.contexts or ()}
    name = context or config.current
    if not name:
        cure = f"name one with --context: {some_of(list(contexts), MOST_NAMED)}" if contexts else FIRST_STEPS
        raise InputError("no context is chosen", source=source, cure=cure)
    if name not in contexts:
        cure = meant_or_there(name, list(contexts)) if contexts else FIRST_STEPS
        raise InputError(f"there is no context {name}", source=source, cure=cure)
    chosen = contexts[name]
    clusters = {entry.name: entry.cluster for entry in config.clusters or ()}
    users = {entry.name: entry.user or UserEntry() for entry in config.users or ()}
    if chosen.cluster not in clusters:
        raise InputError(f"the context {name} names a cluster {chosen.cluster} that is not there", source=source)
    if chosen.user and chosen.user not in users:
        raise InputError(f"the context {name} names a user {chosen.user} that is not there", source=source)
    user = users[chosen.user] if chosen.user else UserEntry()
    place = f"context {name} of {source}"
    return Access(place, clusters[chosen.cluster], user, chosen.user or "", chosen.namespace or "")


def _in_cluster(environment: Mapping[str, str], folder: Path) -> Access:
    host = environment[HOST]
    server = f"https://{f'[{host}]' if ':' in host else host}:{environment.get(PORT) or 443}"
    cluster = ClusterEntry(server=server, certificate_auth=str(folder / "ca.crt"))
    return Access("the service account of this pod", cluster, UserEntry(token_file=str(folder / "token")))


def _names(paths: Sequence[Path]) -> str:
    return os.pathsep.join(map(str, paths))
