"""The webhook as a whole: its certificate and its configuration are kept right, and questions are answered.

A new certificate is shown only when the API server has trusted its authority for a while, as the configuration says
that we read back: until then the one before it is. So nobody is asked to trust what he does not know yet, in whatever
order replicas see what happens.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from ssl import SSLContext, SSLError

import msgspec

from numafit.cluster.admission.certificate import ServerCertificate
from numafit.cluster.admission.configuration import ConfigurationKeeper
from numafit.cluster.admission.counts import FAILED, GATED, PASSED, UNREADABLE, AdmissionCounts
from numafit.cluster.admission.options import PATH, WebhookOptions
from numafit.cluster.admission.review import AdmittedPod, answer, gate_patch, review_uid, reviewed_pod
from numafit.cluster.admission.store import CertificateStore
from numafit.cluster.https.certificates import tls_from_memory
from numafit.cluster.https.messages import ServerAnswer, ServerLimits, ServerRequest, text_answer
from numafit.cluster.https.server import HttpServer
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.pace import Backoff
from numafit.errors import InputError

LIMITS = ServerLimits(
    # The API server takes no object that is larger.
    largest=3 << 20,
    held=64 << 20,
    connections=1000,
    # It waits for a second, and then lets the pod in.
    handshake_seconds=3.0,
    request_seconds=5.0,
    drain_seconds=3.0,
)
LOOK_SECONDS = 5.0
"""Between two looks at the Secret and at the configuration."""
SETTLE_SECONDS = 30.0
"""For which an authority is trusted before what it signed is shown: API servers read the configuration by and by."""
FORGET_SECONDS = 90.0
"""For which a certificate is still trusted that somebody took from the Secret: other replicas show it yet."""

Wish = Callable[[AdmittedPod], tuple[str, ...]]
"""Which gates a pod should have. It is asked in the event loop, has to answer at once, and must change nothing: anybody
may ask, and a question may come twice or for a pod that is never stored."""


class Webhook:
    """`ready` is set once the API server knows where to ask, and somebody answers there. `keeps`: whether this replica
    writes the configuration now; all of them answer. Raises InputError where the port is taken."""

    def __init__(
        self,
        api: KubeApi,
        health: ApiHealth,
        options: WebhookOptions,
        *wishes: Wish,
        keeps: Callable[[], bool] = lambda: True,
        counts: AdmissionCounts | None = None,
        others: Mapping[str, Sequence[Wish]] | None = None,
    ) -> None:
        """`others`: the wishes at the paths of `options.also`."""
        self._api, self._health, self._options, self._keeps = api, health, options, keeps
        self._wishes: dict[str, Sequence[Wish]] = {PATH: wishes, **(others or {})}
        self.counts = counts or AdmissionCounts()
        self.ready = asyncio.Event()
        self.trouble = ""
        """Why certificate or configuration could not be looked at last; empty where all is well."""
        self._store = CertificateStore(api, options.namespace, options.secret, options.hosts, self.counts)
        self._keeper = ConfigurationKeeper(api, options, self.counts)
        self._trusted: dict[bytes, float] = {}
        """Authority -> since when the configuration has it, by our own clock."""
        self._seen: dict[ServerCertificate, float] = {}
        """When it was in the Secret last."""
        self._shown: ServerCertificate | None = None
        self._tls: SSLContext
        self._server = HttpServer(self._answer, lambda: self._tls, self._told, limits=LIMITS, counts=self.counts.server)

    async def run(self) -> None:
        """Until it is cancelled, and some seconds more for those who have not heard of that yet."""
        self._server.bind(self._options.address, self._options.port)
        try:
            await self._show_first()
        except BaseException:
            self._server.close()
            raise
        keeping = asyncio.create_task(self._keep())
        try:
            await self._server.run()
        finally:
            self.ready.clear()
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def remove(self) -> None:
        """Configuration and Secret, as if we had never been there. Raises ApiServerError."""
        await self._keeper.remove()
        await self._store.remove()

    # --- certificate and configuration --------------------------------------------------------------------------------

    async def _show_first(self) -> None:
        backoff = Backoff()
        while True:
            try:
                await self._look()
            except InputError as error:
                self._failed(error)
            if self._shown is not None:
                return
            await asyncio.sleep(backoff.seconds())

    async def _keep(self) -> None:
        backoff = Backoff()
        while True:
            try:
                await self._look()
            except InputError as error:
                self._failed(error)
                await asyncio.sleep(backoff.seconds())
                continue
            backoff.succeeded()
            await asyncio.sleep(LOOK_SECONDS)

    def _failed(self, error: InputError) -> None:
        self._health.failed(error)
        self.trouble = str(error)

    async def _look(self) -> None:
        found = self._known(await self._store.look())
        if self._shown is None:
            self._show(self._choice(found))
        bundle = b"".join(own.authority for own in found)
        trusted = await (self._keeper.kept(bundle) if self._keeps() else self._keeper.look())
        now = time.monotonic()
        self._trusted = {
            own.authority: self._trusted.get(own.authority, now) for own in found if own.authority.strip() in trusted
        }
        self._show(self._choice(found))
        self.trouble = ""
        if self._trusted:
            self.ready.set()

    def _known(self, found: Sequence[ServerCertificate]) -> Sequence[ServerCertificate]:
        """Those of the Secret, then those that were in it a moment ago; of each the newest first."""
        now = time.monotonic()
        self._seen.update((own, now) for own in found)
        self._seen = {
            own: seen
            for own, seen in self._seen.items()
            if seen == now or (now - seen < FORGET_SECONDS and own.is_good(self._api.clock.now()))
        }
        return sorted(self._seen, key=lambda own: (self._seen[own] == now, own.begin), reverse=True)

    def _choice(self, found: Sequence[ServerCertificate]) -> ServerCertificate:
        """The newest that is trusted for long enough; else the one that is trusted longest, of those the oldest."""
        now = time.monotonic()
        for own in found:
            if now - self._trusted.get(own.authority, now) >= SETTLE_SECONDS:
                return own
        return min(reversed(found), key=lambda own: self._trusted.get(own.authority, now))

    def _show(self, chosen: ServerCertificate) -> None:
        if self._shown is not None and self._shown.certificate == chosen.certificate:
            return
        try:
            self._tls = tls_from_memory(chosen.certificate, chosen.key)
        except (SSLError, OSError) as error:
            raise InputError(f"the certificate cannot be used: {error}", source=self._options.secret) from None
        self._shown, self.counts.end = chosen, chosen.end

    # --- questions ----------------------------------------------------------------------------------------------------

    async def _answer(self, request: ServerRequest) -> ServerAnswer:
        if request.method != "POST":
            return text_answer("questions come by POST", HTTPStatus.METHOD_NOT_ALLOWED)
        return self.reply(request.path, request.content)

    def reply(self, path: str, content: bytes) -> ServerAnswer:
        """Whatever goes wrong, the pod is let in as it came."""
        if path not in self._wishes:
            return text_answer(f"there is {' and '.join(self._wishes)}", HTTPStatus.NOT_FOUND)
        begun = time.perf_counter()
        try:
            uid, pod = reviewed_pod(content)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            self.counts.reviews[UNREADABLE] += 1
            uid = review_uid(content)
            if not uid:
                return text_answer("this is no AdmissionReview", HTTPStatus.BAD_REQUEST)
            return ServerAnswer(answer(uid))
        patch = gate_patch(pod, self._wished(path, pod), self._options.namespace) if pod is not None else b""
        self.counts.reviews[GATED if patch else PASSED] += 1
        self.counts.seconds += time.perf_counter() - begun
        return ServerAnswer(answer(uid, patch))

    def _wished(self, path: str, pod: AdmittedPod) -> tuple[str, ...]:
        if pod.node:
            # It is bound already; the API server refuses it with a gate.
            return ()
        gates: list[str] = []
        for wish in self._wishes[path]:
            try:
                gates += wish(pod)
            # One that fails must keep neither the pod nor the others' wishes back; it is a bug, and counted.
            except Exception as error:
                self.counts.reviews[FAILED] += 1
                self._told(error)
        return tuple(gates)

    def _told(self, error: Exception) -> None:
        self.counts.last = f"{type(error).__name__}: {error}"
