"""The devices that ResourceClaims give to the pods of a node, asked for when such pods come or go."""

import time
from collections.abc import Iterable, Mapping
from http import HTTPStatus

import msgspec

from numafit.cluster.claims.held import devices_by_pod
from numafit.cluster.claims.objects import GROUP, VERSIONS, ResourceClaim, ResourceSlice
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.node.pods import NodePod
from numafit.cluster.node.state import NOT_LEARNT
from numafit.cluster.topology.model import ClaimedDevice
from numafit.errors import ApiServerError
from numafit.machine.model import Machine
from numafit.notes import Note

AGAIN_SECONDS = 60.0
"""A claim that was not there or not allocated yet is looked at again then."""

ClaimKey = tuple[str, str, str]
"""(pod UID, namespace, claim)."""


class _Slices(msgspec.Struct):
    items: list[ResourceSlice] | None = None


class ClaimReader:
    def __init__(self, api: KubeApi, node: str) -> None:
        self.api, self.node = api, node
        self.notes: tuple[Note, ...] = ()
        self._asked: frozenset[ClaimKey] = frozenset()
        self._again = 0.0
        self._claims: list[ResourceClaim] = []
        self._slices: list[ResourceSlice] = []

    async def read(self, pods: Iterable[NodePod], machine: Machine) -> Mapping[str, tuple[ClaimedDevice, ...]]:
        """Pod UID -> devices. What cannot be had is in `notes`, and what was known stands."""
        wanted = frozenset(
            (pod.uid, pod.metadata.namespace, claim) for pod in pods if not pod.ended for claim in pod.claims
        )
        if not wanted:
            self._asked, self._claims, self.notes = wanted, [], ()
            return {}
        if wanted != self._asked or time.monotonic() >= self._again:
            try:
                await self._fetch({(space, claim) for _, space, claim in wanted})
                self.notes = ()
            except (ApiServerError, msgspec.MsgspecError) as error:
                self.notes = (
                    Note(NOT_LEARNT, "node", f"the devices that claims give to its pods are not known: {error}"),
                )
            self._asked, self._again = wanted, time.monotonic() + AGAIN_SECONDS
        return devices_by_pod(self._claims, self._slices, machine)

    async def _fetch(self, names: set[tuple[str, str]]) -> None:
        version, data = await self._first("resourceslices", {"fieldSelector": f"spec.nodeName={self.node}"})
        slices = msgspec.json.decode(data, type=_Slices).items or []
        claims = []
        for space, name in sorted(names):
            try:
                data = await self.api.get(f"/apis/{GROUP}/{version}/namespaces/{space}/resourceclaims/{name}")
            except ApiServerError as error:
                if error.status == HTTPStatus.NOT_FOUND:
                    continue
                raise
            claims.append(msgspec.json.decode(data, type=ResourceClaim))
        self._claims, self._slices = claims, slices

    async def _first(self, path: str, parameters: Mapping[str, str]) -> tuple[str, bytes]:
        """From the newest version that the server knows."""
        for version in VERSIONS[:-1]:
            try:
                return version, await self.api.get(f"/apis/{GROUP}/{version}/{path}", parameters)
            except ApiServerError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
        return VERSIONS[-1], await self.api.get(f"/apis/{GROUP}/{VERSIONS[-1]}/{path}", parameters)
