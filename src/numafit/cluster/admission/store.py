"""The Secret in which replicas share their certificate: taken where it is there, made where it is not.

Whoever writes says which version of the Secret he saw, and is refused where another one was quicker: then that one's
counts. So there are never two replicas that show what the other does not know.
"""

import base64
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from numafit.cluster.admission.certificate import ServerCertificate, due, read_certificate
from numafit.cluster.admission.counts import AdmissionCounts
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.objects import ObjectMeta
from numafit.errors import ApiServerError

TYPE = "kubernetes.io/tls"
PARTS = (("ca.crt", "tls.crt", "tls.key"), ("previous-ca.crt", "previous-tls.crt", "previous-tls.key"))
"""Of the newest certificate, and of the one before: authority, certificate, key."""
MOST_TRIES = 5
BETWEEN_SECONDS = 600.0
"""Between two that one replica makes: clocks that are far apart must not make one after the other."""


class _Secret(msgspec.Struct):
    metadata: ObjectMeta
    data: Any = None
    """`Any`: whatever somebody wrote there."""


class CertificateStore:
    def __init__(
        self,
        api: KubeApi,
        namespace: str,
        name: str,
        names: Sequence[str],
        counts: AdmissionCounts,
        now: Callable[[], float] | None = None,
    ) -> None:
        """`now`: else it is the API server's time, which has to take the certificate for good."""
        self._api, self._names, self._counts, self._now = api, names, counts, now or api.clock.now
        self._namespace, self._name = namespace, name
        self._path = f"/api/v1/namespaces/{namespace}/secrets"
        self._made = -BETWEEN_SECONDS

    async def look(self) -> tuple[ServerCertificate, ...]:
        """The newest first, at most two; at least one. Raises ApiServerError."""
        for _ in range(MOST_TRIES):
            secret = await self._present()
            found = certificates(secret.data if secret is not None else None)
            wanted = due(found, self._names, self._now())
            if wanted == found:
                return found
            is_new = wanted[:1] != found[:1]
            if is_new and found and time.monotonic() - self._made < BETWEEN_SECONDS:
                return found
            try:
                await self._write(secret, wanted)
            except ApiServerError as error:
                # Somebody else was quicker, or it was deleted just now.
                if error.status == HTTPStatus.CONFLICT or (error.status == HTTPStatus.NOT_FOUND and secret is not None):
                    continue
                raise
            if is_new:
                self._made = time.monotonic()
                self._counts.certificates += 1
            return wanted
        raise ApiServerError(
            "others change it again and again", source=f"Secret {self._namespace}/{self._name}", cure="who does?"
        )

    async def remove(self) -> None:
        try:
            await self._api.delete(f"{self._path}/{self._name}")
        except ApiServerError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    async def _present(self) -> _Secret | None:
        try:
            data = await self._api.get(f"{self._path}/{self._name}")
        except ApiServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        try:
            return msgspec.json.decode(data, type=_Secret)
        except msgspec.MsgspecError as error:
            raise ApiServerError(f"this is no Secret: {error}") from None

    async def _write(self, before: _Secret | None, wanted: Sequence[ServerCertificate]) -> None:
        data: dict[str, str | None] = {
            name: _text(content)
            for names, own in zip(PARTS, wanted, strict=False)
            for name, content in zip(names, (own.authority, own.certificate, own.key), strict=True)
        }
        if before is None:
            content = {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": self._name, "namespace": self._namespace},
                "type": TYPE,
                "data": data,
            }
            await self._api.create(self._path, msgspec.json.encode(content))
            return
        # What is not there any more has to be said.
        data = {name: data.get(name) for names in PARTS for name in names}
        patch = {"metadata": {"resourceVersion": before.metadata.resourceVersion}, "data": data}
        await self._api.patch(f"{self._path}/{self._name}", msgspec.json.encode(patch))


def certificates(data: object) -> tuple[ServerCertificate, ...]:
    """Those of a Secret that can be read."""
    if not isinstance(data, dict):
        return ()
    found = (read_certificate(*(_content(data.get(name)) for name in names)) for names in PARTS)
    return tuple(own for own in found if own is not None)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _content(text: object) -> bytes:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        return b""
