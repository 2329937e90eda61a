"""What a process tells to those who watch it: /metrics for Prometheus, /readyz and /livez for its kubelet."""

from collections.abc import Callable
from http import HTTPStatus

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from numafit.cluster.https.messages import Answering, ServerAnswer, ServerRequest, text_answer


def watched(
    collectors: tuple[Collector, ...], ready: Callable[[], str], alive: Callable[[], str] = lambda: ""
) -> Answering:
    """`ready` and `alive` say what is missing; nothing: it is so."""
    registry = CollectorRegistry()
    for own in collectors:
        registry.register(own)

    async def answer(request: ServerRequest) -> ServerAnswer:
        if request.method not in ("GET", "HEAD"):
            return text_answer("only GET", HTTPStatus.METHOD_NOT_ALLOWED)
        match request.path:
            case "/metrics":
                return ServerAnswer(generate_latest(registry), kind=CONTENT_TYPE_LATEST)
            case "/readyz":
                return _stands(ready())
            case "/livez":
                return _stands(alive())
            case _:
                return text_answer("there are /metrics, /readyz and /livez", HTTPStatus.NOT_FOUND)

    return answer


def _stands(missing: str) -> ServerAnswer:
    return text_answer(missing, HTTPStatus.SERVICE_UNAVAILABLE) if missing else text_answer("ok")
