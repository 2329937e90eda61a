"""The API server for what runs on and on: many requests at a time from one event loop, changes among them.

Nothing is tried again in here but what is known not to have been done: a request over a connection that the server had
closed before, or one that came with a token that has ended.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from http import HTTPStatus
from types import TracebackType
from urllib.parse import urlencode, urlsplit

import h11
import httpx2

from numafit.cluster.kube.access import Access
from numafit.cluster.kube.clock import ServerClock
from numafit.cluster.kube.connection import Connection, Headers, ProxyRefused, connected, proxy_for
from numafit.cluster.kube.credentials import authorization, handed_out, headers_of, tls_context
from numafit.cluster.kube.failure import caused, endless, no_answer, refused
from numafit.cluster.kube.objects import ListPage, list_page
from numafit.errors import ApiServerError, InputError, SilentStreamError

SECONDS = 15.0
"""For a whole answer that is no stream; half of it to be let in."""
SILENCE = 120.0
"""Seconds without a byte of a stream: a server that lives sends a bookmark every minute."""
LARGEST = 1 << 28
"""Bytes of one answer."""
LONGEST_LINE = 1 << 26
"""Bytes of one line of a stream; an object has at most some megabytes."""
PAGE = 500
"""Objects of a list that are asked for at once."""
TOKEN_SECONDS = 60.0
"""After which a token's file is read again."""

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"

NO_PARAMETERS: Mapping[str, str] = {}


class KubeApi:
    """Paths are those of the API, contents and answers are JSON. All calls raise ApiServerError (`status`: that of the
    answer, 0 where nobody answered), and InputError where the credentials cannot be read."""

    def __init__(self, access: Access, *, connections: int = 16, seconds: float = SECONDS) -> None:
        self.access, self.seconds, self.clock = access, seconds, ServerClock()
        self._server = urlsplit(access.cluster.server)
        if self._server.scheme not in ("http", "https") or not self._server.hostname:
            raise no_answer(httpx2.UnsupportedProtocol(""), access, seconds)
        self._proxy = proxy_for(self._server, access.cluster.proxy_url)
        if self._proxy and urlsplit(self._proxy).scheme != "http":
            cure = "use one whose address begins with http://"
            raise InputError(f"a proxy of this kind is not supported: {self._proxy}", source=access.place, cure=cure)
        self._base = self._server.path.rstrip("/")
        self._idle: list[Connection] = []
        self._free = asyncio.Semaphore(connections)
        self._renew()

    def _renew(self) -> None:
        self._user = handed_out(self.access)
        self._tls = tls_context(self.access, self._user)
        self._headers: Headers = []
        self._headers_end = 0.0

    async def __aenter__(self) -> "KubeApi":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        # Connections are gone only after the loop's next turn.
        await asyncio.sleep(0)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    # --- what is asked ------------------------------------------------------------------------------------------------

    async def get(self, path: str, parameters: Mapping[str, str] = NO_PARAMETERS) -> bytes:
        return await self._asked("GET", path, parameters)

    async def pages(self, path: str, parameters: Mapping[str, str] = NO_PARAMETERS) -> AsyncIterator[ListPage]:
        """A list in parts, all as they stood at one moment; 410 where the server has forgotten that."""
        asked = {**parameters, "limit": str(PAGE)}
        while True:
            page = list_page(await self.get(path, asked), self.access.cluster.server)
            yield page
            if not page.metadata.rest:
                return
            if page.metadata.rest == asked.get("continue"):
                raise endless("its list does not end", self.access)
            asked["continue"] = page.metadata.rest

    async def create(self, path: str, content: bytes) -> bytes:
        return await self._asked("POST", path, NO_PARAMETERS, content)

    async def replace(self, path: str, content: bytes) -> bytes:
        return await self._asked("PUT", path, NO_PARAMETERS, content)

    async def patch(
        self, path: str, content: bytes, kind: str = MERGE, parameters: Mapping[str, str] = NO_PARAMETERS
    ) -> bytes:
        return await self._asked("PATCH", path, parameters, content, kind)

    async def apply(self, path: str, content: bytes, manager: str, *, force: bool = False) -> bytes:
        """Server-side: the fields in it belong to `manager` from then on; 409 where another one holds them, unless
        they are taken by force."""
        parameters = {"fieldManager": manager, **({"force": "true"} if force else {})}
        return await self._asked("PATCH", path, parameters, content, APPLY)

    async def delete(self, path: str, content: bytes = b"", parameters: Mapping[str, str] = NO_PARAMETERS) -> bytes:
        return await self._asked("DELETE", path, parameters, content)

    async def lines(
        self, path: str, parameters: Mapping[str, str], rest: float = 0.0, begun: Callable[[], None] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """A watch: one object after the other, until the server ends it. It has a connection of its own. `rest`: so
        many seconds after one no more are taken: to be woken for each of many takes longer than to read them. `begun`
        is called once the server has agreed: it may be long until it tells something."""
        target = self._target(path, parameters)
        connection = await self._open()
        try:
            async with asyncio.timeout(self.seconds):
                answer = self._timed(await connection.send("GET", target, self._request_headers(), b""))
                if answer.status_code != HTTPStatus.OK:
                    content = await _whole(connection)
            if answer.status_code != HTTPStatus.OK:
                self._forget_credentials(answer.status_code)
                raise refused(_response(answer, content), self.access)
            if begun is not None:
                begun()
            async for line in self._split(connection, rest):
                yield line
        except TimeoutError as error:
            failure = self._no_answer(error, SILENCE)
            raise SilentStreamError(failure.message, source=failure.source, cure=failure.cure) from None
        except (OSError, h11.ProtocolError) as error:
            raise self._no_answer(error, self.seconds) from None
        finally:
            connection.close()

    async def _split(self, connection: Connection, rest: float) -> AsyncIterator[bytes]:
        parts, begun = connection.chunks(), bytearray()
        while True:
            async with asyncio.timeout(SILENCE):
                part = await anext(parts, None)
            if part is None:
                return
            begun += part
            if len(begun) > LONGEST_LINE:
                raise endless(f"an object is larger than {LONGEST_LINE >> 20} MiB", self.access)
            if b"\n" in part:
                *lines, left = begun.split(b"\n")
                begun = bytearray(left)
                for line in lines:
                    yield bytes(line)
                if rest:
                    await connection.rest(rest)

    # --- how it is asked ----------------------------------------------------------------------------------------------

    async def _asked(
        self, method: str, path: str, parameters: Mapping[str, str], content: bytes = b"", kind: str = JSON
    ) -> bytes:
        target = self._target(path, parameters)
        async with self._free:
            answer, found = await self._sent(method, target, content, kind)
            if answer.status_code == HTTPStatus.UNAUTHORIZED and self._forget_credentials(answer.status_code):
                answer, found = await self._sent(method, target, content, kind)
        if answer.status_code >= HTTPStatus.MULTIPLE_CHOICES:
            raise refused(_response(answer, found), self.access)
        return found

    async def _sent(self, method: str, target: str, content: bytes, kind: str) -> tuple[h11.Response, bytes]:
        headers = self._request_headers()
        if content:
            headers = [*headers, ("Content-Type", kind), ("Content-Length", str(len(content)))]
        while True:
            connection = self._taken() or await self._open()
            try:
                async with asyncio.timeout(self.seconds):
                    answer = self._timed(await connection.send(method, target, headers, content))
                    found = await _whole(connection)
            except (ConnectionError, h11.ProtocolError) as error:
                connection.close()
                if connection.used and method != "POST":
                    # The server closed it at the moment when it was used again.
                    continue
                raise self._no_answer(error, self.seconds) from None
            except (OSError, TimeoutError) as error:
                connection.close()
                raise self._no_answer(error, self.seconds) from None
            except BaseException:
                connection.close()
                raise
            if connection.is_open:
                self._idle.append(connection)
            return answer, found

    def _timed(self, answer: h11.Response) -> h11.Response:
        if self.clock.wants_to_look():
            for name, value in answer.headers:
                if name == b"date":
                    self.clock.look(value)
        return answer

    def _taken(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
            connection.close()
        return None

    async def _open(self) -> Connection:
        try:
            async with asyncio.timeout(self.seconds / 2):
                return await connected(self._server, self._tls, self.access.cluster.tls_server_name, self._proxy)
        except TimeoutError as error:
            raise no_answer(caused(httpx2.ConnectTimeout(""), error), self.access, self.seconds / 2) from None
        except ProxyRefused as error:
            raise no_answer(httpx2.ProxyError(str(error)), self.access, self.seconds) from None
        except OSError as error:
            raise no_answer(caused(httpx2.ConnectError(str(error)), error), self.access, self.seconds) from None

    def _no_answer(self, error: Exception, seconds: float) -> ApiServerError:
        kind: Exception = httpx2.ReadError(str(error))
        if isinstance(error, TimeoutError):
            kind = httpx2.ReadTimeout("")
        return no_answer(caused(kind, error), self.access, seconds)

    def _target(self, path: str, parameters: Mapping[str, str]) -> str:
        return f"{self._base}{path}?{urlencode(parameters)}" if parameters else f"{self._base}{path}"

    def _request_headers(self) -> Headers:
        now = time.monotonic()
        if now >= self._headers_end:
            headers = [("Host", self._server.netloc.rpartition("@")[2]), ("Accept", JSON), *headers_of(self.access)]
            shown = authorization(self.access, self._user)
            self._headers = [*headers, *([("Authorization", shown)] if shown else [])]
            self._headers_end = now + TOKEN_SECONDS
        return self._headers

    def _forget_credentials(self, status: int) -> bool:
        """Whether new ones can be had: a program hands them out, or a file has been replaced."""
        user = self.access.user
        if status != HTTPStatus.UNAUTHORIZED or (user.exec is None and user.token_file is None):
            return False
        if user.exec is not None and not (user.token or user.token_file):
            self.close()
            self._renew()
        self._headers_end = 0.0
        return True


async def _whole(connection: Connection) -> bytes:
    data = bytearray()
    async for part in connection.parts():
        data += part
        if len(data) > LARGEST:
            raise ConnectionError(f"the answer is larger than {LARGEST >> 20} MiB")
    return bytes(data)


def _response(answer: h11.Response, content: bytes) -> httpx2.Response:
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in answer.headers]
    return httpx2.Response(
        answer.status_code,
        headers=[(name, value) for name, value in headers if "encoding" not in name],
        content=content,
    )
