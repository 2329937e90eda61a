"""As much of an API server as a webhook needs: a Secret, its configuration, a namespace, and who may do what."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from numafit.cluster.admission.configuration import API_VERSION, PLURAL
from numafit.cluster.admission.options import WebhookOptions
from tests.cluster.kube.scripted_server import Answer, Asked, Hangup, Stream, refusal

OPTIONS = WebhookOptions()
SECRETS = f"/api/v1/namespaces/{OPTIONS.namespace}/secrets"
SECRET = f"{SECRETS}/{OPTIONS.secret}"
CONFIGURATION = f"/apis/{API_VERSION}/{PLURAL}/{OPTIONS.name}"
NAMESPACE = f"/api/v1/namespaces/{OPTIONS.namespace}"


class AdmissionObjects:
    """`forbidden`: methods and paths that are refused. `before`: called before each request is looked at."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {NAMESPACE: {"metadata": {"name": OPTIONS.namespace, "uid": "namespace-uid"}}}
        self.version = 0
        self.forbidden: set[tuple[str, str]] = set()
        self.before: Callable[[Asked], None] = lambda asked: None
        self.down = False

    def __call__(self, asked: Asked) -> Answer | Stream | Hangup:
        if self.down:
            return Hangup()
        self.before(asked)
        path, own = urlsplit(asked.target).path, json.loads(asked.content or b"null")
        if (asked.method, path) in self.forbidden:
            return refusal(403, f"you cannot {asked.method.lower()} {path}")
        if asked.method == "POST":
            path = f"{path}/{own['metadata']['name']}"
            return refusal(409, "is there already") if path in self.objects else self._put(path, own)
        if "apply" in asked.headers.get("content-type", ""):
            return self._put(path, own)
        if path not in self.objects:
            return refusal(404, "not found")
        if asked.method == "PATCH":
            return self._merge(path, own)
        if asked.method == "DELETE":
            del self.objects[path]
            return Answer()
        return Answer(json.dumps(self.objects[path]).encode())

    def _merge(self, path: str, own: Any) -> Answer:
        there = self.objects[path]
        if own["metadata"]["resourceVersion"] != there["metadata"]["resourceVersion"]:
            return refusal(409, "the object has been modified")
        data = {**(there.get("data") or {}), **own["data"]}
        return self._put(path, {**there, "data": {name: text for name, text in data.items() if text is not None}})

    def _put(self, path: str, own: Any) -> Answer:
        self.version += 1
        own = {**own, "metadata": {**own["metadata"], "resourceVersion": str(self.version)}}
        self.objects[path] = own
        return Answer(json.dumps(own).encode())
