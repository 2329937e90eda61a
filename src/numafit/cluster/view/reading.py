"""Nodes, NodeTopologies and pods of a cluster, listed at once, and the fleet that follows from them.

What may not be seen is left out, with what that means for the answer: without Nodes those that report stand for all,
without the pods of all namespaces those of one are looked at. Without any NodeTopology nothing is known of a node.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

import msgspec

from numafit.cluster.case.case import PARTLY
from numafit.cluster.kube.client import Client
from numafit.cluster.kube.objects import NODES, PODS, list_page
from numafit.cluster.live.fleet import LIVING, SentTopology
from numafit.cluster.live.nodes import ClusterNode, SentNode, node_of
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.topology.model import KIND, PATH
from numafit.cluster.topology.read import read_topology
from numafit.cluster.view.rights import NO_AGENT, NODES_RIGHT, PODS_RIGHT, TOPOLOGIES_RIGHT
from numafit.cluster.view.seen import ClusterView
from numafit.errors import ApiServerError, InputError, meant_or_there
from numafit.notes import Note
from numafit.workload.api_server import subdomain_problem

ListPages = list[bytes]


def read_cluster(client: Client, *, namespace: str, pods: bool = True) -> ClusterView:
    """`pods`: those of all namespaces that have not ended; where that is not allowed, of `namespace`. Raises
    ApiServerError where the server does not answer."""
    view = ClusterView()
    asked: list[Callable[[], ListPages | ApiServerError]] = [
        lambda: listed(client, NODES),
        lambda: listed(client, PATH),
    ]
    if pods:
        asked.append(lambda: listed(client, PODS, LIVING))
    with ThreadPoolExecutor(len(asked)) as pool:
        nodes, topologies, *living = (each.result() for each in [pool.submit(own) for own in asked])
    _take_nodes(view, client, nodes)
    if living:
        _take_pods(view, client, living[0], namespace)
    _take_topologies(view, client, topologies)
    return view


def read_node(client: Client, name: str, *, namespace: str) -> ClusterView:
    """One node alone. Raises InputError where it is not there, or nobody tells how it stands."""
    view = ClusterView()
    problem = subdomain_problem(name)
    if problem:
        raise InputError(f"is no name of a node: {problem}", source=name)
    try:
        data = client.get(f"{PATH}/{name}")
    except ApiServerError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            raise _no_topology(client, name) from None
        raise
    view.book.node_told(ClusterNode(name, ready=True))
    try:
        view.book.node_told(node_of(msgspec.json.decode(client.get(f"{NODES}/{name}"), type=SentNode)))
    except ApiServerError as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        view.lacks(NODES_RIGHT, "its labels, taints and whether it is cordoned are not known")
    selector = {"fieldSelector": f"{LIVING['fieldSelector']},spec.nodeName={name}"}
    _take_pods(view, client, listed(client, PODS, selector), namespace)
    take_topology(view, name, data)
    if name in view.refused:
        raise view.refused[name]
    return view


def _no_topology(client: Client, name: str) -> InputError:
    """There is no such node, or it reports nothing."""
    nodes = listed(client, NODES)
    if isinstance(nodes, ApiServerError):
        return InputError(f"there is no {KIND} of it", source=f"node {name}", cure=NO_AGENT)
    names = [msgspec.json.decode(item, type=SentNode).metadata.name for item in items_of(client, nodes)]
    if name in names:
        why = f"there is no {KIND} of it, so nobody tells how it stands"
        return InputError(why, source=f"node {name}", cure=NO_AGENT)
    return InputError(f"there is no node {name}", cure=meant_or_there(name, names))


def listed(client: Client, path: str, parameters: dict[str, str] | None = None) -> ListPages | ApiServerError:
    """An error of 403 or 404 is an answer, too."""
    try:
        return client.pages(path, parameters or {})
    except ApiServerError as error:
        if error.status in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
            return error
        raise


def items_of(client: Client, pages: ListPages) -> Iterator[msgspec.Raw]:
    for page in pages:
        yield from list_page(page, client.access.cluster.server).items or ()


def pods_in(view: ClusterView, client: Client, namespace: str) -> list[ClusterPod]:
    """All of one namespace, those that have ended, too. Raises ApiServerError."""
    pages = client.pages(f"/api/v1/namespaces/{namespace}/pods", {})
    return [pod for item in items_of(client, pages) if (pod := view.read_pod(item)) is not None]


def _take_nodes(view: ClusterView, client: Client, pages: ListPages | ApiServerError) -> None:
    if isinstance(pages, ApiServerError):
        view.lacks(NODES_RIGHT, "labels, taints and cordons are not known, and nodes that report nothing are not seen")
        return
    for item in items_of(client, pages):
        try:
            view.book.node_told(node_of(msgspec.json.decode(item, type=SentNode)))
        except msgspec.MsgspecError as error:
            view.notes.append(Note(PARTLY, "nodes", f"one cannot be read: {error}"))


def _take_pods(view: ClusterView, client: Client, pages: ListPages | ApiServerError, namespace: str) -> None:
    if isinstance(pages, ApiServerError):
        effect = f"only those of {namespace} are looked at, and what others ask for without holding it is not counted"
        view.lacks(PODS_RIGHT, effect)
        own = listed(client, f"/api/v1/namespaces/{namespace}/pods", LIVING)
        if isinstance(own, ApiServerError):
            view.notes.append(Note(PARTLY, "pods", f"those of {namespace} may not be listed either"))
            view.podless = True
            return
        pages = own
    for item in items_of(client, pages):
        pod = view.read_pod(item)
        if pod is not None and not pod.ended:
            view.book.pod_told(pod)


def _take_topologies(view: ClusterView, client: Client, pages: ListPages | ApiServerError) -> None:
    if isinstance(pages, ApiServerError):
        if pages.status == HTTPStatus.FORBIDDEN:
            view.sightless = f"you may not list {TOPOLOGIES_RIGHT.resource} of {TOPOLOGIES_RIGHT.group}"
            view.lacks(TOPOLOGIES_RIGHT, "how nodes stand is not known")
        else:
            view.sightless = f"this cluster does not know the kind {KIND}"
            view.notes.append(Note(PARTLY, KIND, f"this cluster does not know them, so no node is known ({NO_AGENT})"))
        return
    stand_ins = NODES_RIGHT in view.missing
    for item in items_of(client, pages):
        try:
            sent = msgspec.json.decode(item, type=SentTopology)
        except msgspec.MsgspecError as error:
            view.notes.append(Note(PARTLY, KIND, f"one cannot be read: {error}"))
            continue
        name = sent.metadata.name
        if stand_ins:
            view.book.node_told(ClusterNode(name, ready=True))
        take_topology(view, name, bytes(item))


def take_topology(view: ClusterView, name: str, data: bytes) -> None:
    try:
        topology = read_topology(data, f"{KIND} {name}")
        state = view.book.read(topology)
    except InputError as error:
        view.refused[name] = error
        view.book.unreported(name, str(error))
        return
    view.topologies[name] = topology
    view.book.reported(name, state)
