"""The guard at the door: which requests may come in at all, and the headers that every answer carries."""

import base64
import binascii
import hmac
import ipaddress
import os
import socket
import sys
import time
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.exceptions import HTTPException

from numafit.errors import NumafitError
from numafit.service.api.access import Guesses, access_line
from numafit.service.api.peer import peer_of
from numafit.service.problem import MEDIA_TYPE, ProblemError, problem, problem_of, refused

# `Any`: scopes and messages of ASGI are dictionaries without a fixed shape.
App = Any
Scope = Any

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
LOOPBACK = ("localhost", "127.0.0.1", "::1")
ASKS = {"WWW-Authenticate": 'Basic realm="numafit", charset="UTF-8"'}
OPEN = ("/healthz", "/readyz")
"""Answered without a token: they tell nothing but that the agent is alive."""


class Rules(msgspec.Struct, frozen=True):
    host: str = "127.0.0.1"
    """The name or address that the agent listens on."""
    token: str = ""
    allow_writes: bool = False
    """With the token, also by TCP."""
    access_log: bool = False
    """A line for each request."""

    @property
    def beyond_loopback(self) -> bool:
        return not is_loopback(self.host)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """`counts` gets the answers by the first digit of their status, as in `2xx`."""

    def __init__(self, app: App, rules: Rules, counts: dict[str, int] | None = None) -> None:
        self.app = app
        self.rules = rules
        self.counts = {} if counts is None else counts
        self.names = own_names(rules)
        self.guesses = Guesses()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        status, begun = 0, time.monotonic()

        async def guarded(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                kind = f"{status // 100}xx"
                self.counts[kind] = self.counts.get(kind, 0) + 1
                message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
            await send(message)

        try:
            self._check(scope)
            # With an "app" in the scope starlette raises what it cannot route, instead of answering in its own words.
            await self.app({**scope, "app": self.app}, receive, guarded)
        except ProblemError as error:
            if error.problem.status == HTTPStatus.UNAUTHORIZED and _authorization(scope):
                try:
                    await self.guesses.wait()
                except ProblemError as too_many:
                    error = too_many
            await send_problem(guarded, error)
        except HTTPException as error:
            await send_problem(guarded, _unrouted(scope, error))
        except NumafitError as error:
            await send_problem(guarded, ProblemError(problem_of(error)))
        except Exception as error:
            print(f"numafit: this is a bug in numafit: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            if not status:
                text = f"this is a bug in numafit: {type(error).__name__}"
                await send_problem(guarded, ProblemError(problem(500, text)))
        finally:
            if self.rules.access_log:
                print(access_line(scope, status, time.monotonic() - begun), file=sys.stderr, flush=True)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        if b"transfer-encoding" in headers and b"content-length" in headers:
            # A proxy in between may go by the other one, and take the rest of the body for a request (RFC 9112, 6.3).
            cure, ends = "send one of both", {"Connection": "close"}
            raise refused(400, "the request has Content-Length and Transfer-Encoding", cure=cure, headers=ends)
        if peer_of(scope) is not None:
            # No browser speaks through a unix socket.
            return
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_own_name(_host_name(host)):
            cure = "use localhost, or the name given with --host"
            raise refused(421, f"this agent is not called {host[:80]!r}", cure=cure)
        origin = headers.get(b"origin", b"").decode("latin-1")
        # Beyond this machine a proxy may speak TLS before us.
        schemes = ("http", "https") if self.rules.beyond_loopback else ("http",)
        if origin and origin not in {f"{scheme}://{host}" for scheme in schemes}:
            raise refused(403, f"requests of pages from {origin[:80]!r} are not answered")
        if self.rules.token and scope["path"] not in OPEN and not self.has_token(headers):
            raise refused(401, "this agent answers only with its token", cure="send it as bearer token", headers=ASKS)

    def _is_own_name(self, name: str) -> bool:
        if name in self.names:
            return True
        if not self.rules.beyond_loopback:
            return False
        # Names can be made to point anywhere, addresses cannot: DNS rebinding needs a name.
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def writer(self, scope: Scope) -> int:
        """The user id in whose name a request may take or release; a problem where it may not."""
        peer = peer_of(scope)
        if peer is not None:
            return peer.uid
        if not self.rules.allow_writes:
            raise refused(403, "leases are taken through the unix socket", cure="start the agent with --socket")
        if not self.has_token(dict(scope["headers"])):
            raise refused(401, "leases are taken with the token", cure="send it as bearer token", headers=ASKS)
        return os.geteuid()

    def has_token(self, headers: dict[bytes, bytes]) -> bool:
        given = token_of(headers.get(b"authorization", b"").decode("latin-1"))
        return bool(self.rules.token) and hmac.compare_digest(given.encode(), self.rules.token.encode())


def _authorization(scope: Scope) -> bytes:
    found: bytes = dict(scope["headers"]).get(b"authorization", b"")
    return found


def own_names(rules: Rules) -> frozenset[str]:
    """Asked for once: a name server may take long to answer, and no request must wait for it."""
    names = {*LOOPBACK, rules.host.lower()}
    if rules.beyond_loopback:
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset(names)


def _unrouted(scope: Scope, error: HTTPException) -> ProblemError:
    path = scope["path"][:200]
    words = {404: f"there is nothing at {path}", 405: f"{path} does not take {scope['method'][:20]}"}
    cure = "GET /api/docs shows what there is"
    detail = words.get(error.status_code, error.detail)
    return refused(error.status_code, detail, cure=cure, headers=dict(error.headers or {}))


def token_of(authorization: str) -> str:
    """The bearer token, or the password of basic authentication: a browser can ask its user for that."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            return ""
    return ""


def _host_name(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


async def send_problem(send: Any, error: ProblemError) -> None:
    content = msgspec.json.encode(error.problem)
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(content)).encode())]
    headers += [(b"cache-control", b"no-store")]
    headers += [(name.lower().encode(), value.encode()) for name, value in error.headers.items()]
    await send({"type": "http.response.start", "status": error.problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
