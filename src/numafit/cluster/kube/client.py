"""One question to the API server, and its answer as bytes; a list page by page. Nothing is ever changed there."""

import time
from collections.abc import Mapping
from http import HTTPStatus
from types import TracebackType

import httpx2
import msgspec
from lightkube.config.client_adapter import user_auth
from lightkube.core.exceptions import ConfigError

from numafit.cluster.kube.access import Access
from numafit.cluster.kube.credentials import handed_out, headers_of, tls_context
from numafit.cluster.kube.failure import endless, no_answer, no_json, refused
from numafit.cluster.kube.objects import list_page
from numafit.errors import ApiServerError, InputError

SECONDS = 15.0
"""Without a byte of an answer; half of it to be let in."""
LONGEST = 60.0
"""Seconds for one answer, however slowly it drips."""
LARGEST = 1 << 28
"""Bytes of one answer, unpacked, and of all pages of a list."""
JSON = "application/json"
PAGE = 250
"""Objects of a list that are asked for at once."""
MOST_PAGES = 1000
TRIES = 3
PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds before another try, where the server does not say how long to wait."""
BUSY = (
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
"""May pass by itself within seconds."""
_PACKING = ("content-encoding", "content-length", "transfer-encoding")


class Client:
    """Made for a few questions one after the other; close it, or use it in a `with`."""

    def __init__(self, access: Access, seconds: float = SECONDS) -> None:
        self.access = access
        self.seconds = seconds
        self._http = self._connected()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(
        self, path: str, parameters: Mapping[str, str] | None = None, *, accept: str = JSON, tries: int = TRIES
    ) -> bytes:
        """A JSON object. Raises ApiServerError; what may pass by itself is tried again before."""
        for left in range(tries - 1, -1, -1):
            try:
                response = self._send(path, parameters, accept)
            except (httpx2.RemoteProtocolError, httpx2.ReadError) as error:
                # A connection that was closed while nobody used it.
                if not left:
                    raise no_answer(error, self.access, self.seconds) from None
                continue
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise no_answer(error, self.access, self.seconds) from None
            except ConfigError as error:
                raise InputError(str(error), source=self.access.place) from None
            if response.status_code not in BUSY or not left:
                break
            time.sleep(_pause(response))
        if response.status_code >= HTTPStatus.MULTIPLE_CHOICES:
            raise refused(response, self.access)
        if not _is_object(response.content):
            raise no_json(response, self.access)
        return response.content

    def pages(self, path: str, parameters: Mapping[str, str], *, accept: str = JSON) -> list[bytes]:
        """A list in parts, all as they stood at one moment. A server that forgot that moment is asked from the start
        again."""
        try:
            return self._pages(path, parameters, accept)
        except ApiServerError as error:
            if error.status != HTTPStatus.GONE:
                raise
            return self._pages(path, parameters, accept)

    def _pages(self, path: str, parameters: Mapping[str, str], accept: str) -> list[bytes]:
        asked = {**parameters, "limit": str(PAGE)}
        found: list[bytes] = []
        while len(found) < MOST_PAGES and sum(map(len, found)) <= LARGEST:
            found.append(self.get(path, asked, accept=accept))
            rest = list_page(found[-1], self.access.cluster.server).metadata.rest
            if not rest:
                return found
            asked = {**asked, "continue": rest}
        raise endless("its list does not end", self.access)

    def _send(self, path: str, parameters: Mapping[str, str] | None, accept: str) -> httpx2.Response:
        response = self._get(path, parameters, accept)
        if response.status_code == HTTPStatus.UNAUTHORIZED and self.access.user.exec is not None:
            # What the program handed out may have ended since.
            self._http.close()
            self._http = self._connected()
            response = self._get(path, parameters, accept)
        return response

    def _get(self, path: str, parameters: Mapping[str, str] | None, accept: str) -> httpx2.Response:
        name = self.access.cluster.tls_server_name
        extensions = {"sni_hostname": name} if name else {}
        request = self._http.build_request(
            "GET", path, params=dict(parameters or {}), headers={"Accept": accept}, extensions=extensions
        )
        response = self._http.send(request, stream=True)
        try:
            return self._read(response)
        finally:
            response.close()

    def _read(self, response: httpx2.Response) -> httpx2.Response:
        """Whole; an answer without an end, or one that unpacks to more than fits, is left."""
        end, data = time.monotonic() + LONGEST, bytearray()
        for part in response.iter_bytes():
            data += part
            if len(data) > LARGEST:
                raise endless(f"the answer is larger than {LARGEST >> 20} MiB", self.access)
            if time.monotonic() > end:
                raise endless(f"the answer is not whole after {LONGEST:g} s", self.access)
        # It is unpacked now, and must not be so again.
        headers = {name: value for name, value in response.headers.items() if name not in _PACKING}
        return httpx2.Response(response.status_code, headers=headers, content=bytes(data), request=response.request)

    def _connected(self) -> httpx2.Client:
        cluster, user = self.access.cluster, handed_out(self.access)
        try:
            return httpx2.Client(
                base_url=cluster.server,
                verify=tls_context(self.access, user),
                auth=user_auth(user),
                timeout=httpx2.Timeout(self.seconds, connect=self.seconds / 2),
                proxy=cluster.proxy_url,
                headers=headers_of(self.access),
            )
        except (ValueError, TypeError, ConfigError, httpx2.InvalidURL) as error:
            raise InputError(f"cannot be used: {error}", source=self.access.place) from None


def _is_object(data: bytes) -> bool:
    """Whoever reads a part of it later may count on the rest."""
    try:
        return isinstance(msgspec.json.decode(data), dict)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False


def _pause(response: httpx2.Response) -> float:
    """Seconds."""
    said = response.headers.get("retry-after", "")
    return min(float(said), LONGEST_PAUSE) if said.isdecimal() and said.isascii() else PAUSE
