"""A case from the API server: what is allowed and there, and a note for everything else."""

from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from numafit import __version__
from numafit.cluster.case.case import CLAIMS, KUBELET, NODE, PARTLY, PODS, PUBLISHED, TOPOLOGY, About, NodeCase
from numafit.cluster.claims.fetch import claims_on
from numafit.cluster.kube.client import Client
from numafit.cluster.kube.objects import NODES, ObjectJson
from numafit.cluster.kube.objects import PODS as PODS_PATH
from numafit.cluster.topology.model import PATH
from numafit.errors import ApiServerError, InputError, meant_or_there
from numafit.notes import Note
from numafit.show.records.time import now_text
from numafit.workload.api_server import subdomain_problem

TOPOLOGIES = "/apis/topology.node.k8s.io/{version}/noderesourcetopologies/{name}"
TOPOLOGY_VERSIONS = ("v1alpha2", "v1alpha1")
NAMES_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


class _Metadata(msgspec.Struct):
    name: str = ""


class _Named(msgspec.Struct):
    metadata: _Metadata


class _Names(msgspec.Struct):
    items: list[_Named]


class _Objects(msgspec.Struct):
    items: list[ObjectJson] | None = None


class _Condition(msgspec.Struct):
    type: str
    status: str
    reason: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []


class _Node(msgspec.Struct):
    kind: str
    status: _Status


def fetched(client: Client, name: str) -> NodeCase:
    """Raises ApiServerError where not even the node can be had; the rest may lack, with a note."""
    notes: list[Note] = []
    files = {NODE: _node(client, name, notes)}
    for file, data in (
        (KUBELET, _kubelet(client, name, notes)),
        (PODS, _pods(client, name, notes)),
        (TOPOLOGY, _topology(client, name, notes)),
        (PUBLISHED, _published(client, name, notes)),
    ):
        if data is not None:
            files[file] = data
    claims = _claims(client, name, files.get(PODS, b"{}"), notes)
    if claims is not None:
        files[CLAIMS] = claims
    return NodeCase(About(name, now_text(), __version__, tuple(notes)), files)


def node_names(client: Client) -> list[str]:
    pages = client.pages(NODES, {}, accept=NAMES_ONLY)
    try:
        return [each.metadata.name for page in pages for each in msgspec.json.decode(page, type=_Names).items]
    except msgspec.MsgspecError:
        return []


def _node(client: Client, name: str, notes: list[Note]) -> bytes:
    problem = subdomain_problem(name)
    if problem:
        raise InputError(f"is no name of a node: {problem}", source=name)
    try:
        data = client.get(f"{NODES}/{name}")
    except ApiServerError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        raise _not_there(client, name) from None
    try:
        node = msgspec.json.decode(data, type=_Node)
    except msgspec.MsgspecError:
        raise InputError("what came for it is no Node", source=f"node {name}") from None
    for condition in node.status.conditions:
        if condition.type == "Ready" and condition.status != "True":
            why = f" ({condition.reason})" if condition.reason else ""
            notes.append(Note(PARTLY, "node", f"it is not ready{why}: what the cluster tells of it may be old"))
    return data


def _not_there(client: Client, name: str) -> ApiServerError:
    server = client.access.cluster.server
    try:
        names = node_names(client)
    except ApiServerError:
        names = []
    cure = meant_or_there(name, names) if names else f"asked was {client.access.place}; --context names another cluster"
    return ApiServerError(f"there is no node {name}", source=server, cure=cure, status=HTTPStatus.NOT_FOUND)


def _kubelet(client: Client, name: str, notes: list[Note]) -> bytes | None:
    try:
        # Not tried again: where the API server cannot reach the kubelet, that takes long each time.
        return client.get(f"{NODES}/{name}/proxy/configz", tries=1)
    except ApiServerError as error:
        reasons: dict[int, str] = {
            HTTPStatus.FORBIDDEN: "you may not ask for it (the right is get on nodes/proxy)",
            HTTPStatus.NOT_FOUND: "the kubelet does not tell it (is enableDebuggingHandlers off there?)",
        }
        why = reasons.get(error.status, error.message)
        notes.append(Note(PARTLY, "kubelet", f"its configuration is not known: {why}; give it with --kubelet"))
        return None


def pods_of(client: Client, name: str) -> bytes:
    """A list of the pods on the node, from all namespaces."""
    pages = client.pages(PODS_PATH, {"fieldSelector": f"spec.nodeName={name}"})
    try:
        return _one_list(pages)
    except msgspec.MsgspecError as error:
        raise ApiServerError(f"this is no list of pods: {error}", source=client.access.cluster.server) from None


def _pods(client: Client, name: str, notes: list[Note]) -> bytes | None:
    try:
        return pods_of(client, name)
    except ApiServerError as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        why = "you may not list the pods of all namespaces, so those on the node are not known: it is taken as empty"
        notes.append(Note(PARTLY, "node", why))
        return None


def _one_list(pages: Sequence[bytes]) -> bytes:
    """As kubectl prints it: a server leaves out in lists what each item is."""
    lists = [msgspec.json.decode(page, type=_Objects) for page in pages]
    items = [{"apiVersion": "v1", "kind": "Pod", **item} for each in lists for item in each.items or ()]
    return msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items})


def _topology(client: Client, name: str, notes: list[Note]) -> bytes | None:
    """Where there is none, whoever needs a machine says so: that is no note yet."""
    for version in TOPOLOGY_VERSIONS:
        try:
            return client.get(TOPOLOGIES.format(version=version, name=name))
        except ApiServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                continue
            why = "you may not read it" if error.status == HTTPStatus.FORBIDDEN else error.message
            notes.append(Note(PARTLY, "machine", f"its NodeResourceTopology is not known: {why}"))
            return None
    return None


def _claims(client: Client, name: str, pods: bytes, notes: list[Note]) -> bytes | None:
    try:
        return claims_on(client, name, pods)
    except ApiServerError as error:
        right = "the right is list on resourceclaims and resourceslices"
        why = f"you may not ask for it ({right})" if error.status == HTTPStatus.FORBIDDEN else error.message
        notes.append(Note(PARTLY, "node", f"which devices resource claims (DRA) give to its pods is not known: {why}"))
        return None


def published_of(client: Client, name: str) -> bytes | None:
    """Its NodeTopology; None where no agent publishes one."""
    try:
        return client.get(f"{PATH}/{name}")
    except ApiServerError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return None


def _published(client: Client, name: str, notes: list[Note]) -> bytes | None:
    try:
        return published_of(client, name)
    except ApiServerError as error:
        why = "you may not read it" if error.status == HTTPStatus.FORBIDDEN else error.message
        notes.append(Note(PARTLY, "node", f"its NodeTopology, if there is one, is not known: {why}"))
        return None
