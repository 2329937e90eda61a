"""An API server that only notes what it is asked, and answers as a test says."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from numafit.cluster.kube.api import KubeApi
from numafit.errors import ApiServerError
from tests.cluster.kube.scripted_server import NOWHERE


class Noted(NamedTuple):
    method: str
    path: str
    content: Any = None


Answering = Callable[[Noted], Any]
"""The answer; an int is the status of a refusal."""


class RecordedApi(KubeApi):
    def __init__(self, answer: Answering = lambda _: {}) -> None:
        super().__init__(NOWHERE)
        self.answer = answer
        self.noted: list[Noted] = []

    async def _asked(
        self, method: str, path: str, parameters: Mapping[str, str], content: bytes = b"", kind: str = ""
    ) -> bytes:
        noted = Noted(method, path, json.loads(content) if content else None)
        self.noted.append(noted)
        found = self.answer(noted)
        if isinstance(found, int):
            raise ApiServerError("refused", status=found)
        return json.dumps(found).encode()

    def of(self, method: str) -> list[Noted]:
        return [own for own in self.noted if own.method == method]
