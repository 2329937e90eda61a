"""Objects in memory by their paths, with versions: enough of an API server for leases and events."""

import json
from typing import Any

from tests.cluster.kube.scripted_server import Answer, Asked, Hangup, Stream, refusal


class StoredObjects:
    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.version = 0
        self.down = False

    def __call__(self, asked: Asked) -> Answer | Stream | Hangup:
        if self.down:
            return Hangup()
        path, own = asked.target, json.loads(asked.content or b"null")
        if asked.method == "POST":
            path = f"{path}/{own['metadata']['name']}"
            return refusal(409, "is there already") if path in self.objects else self._put(path, own)
        if path not in self.objects:
            return refusal(404, "not found")
        if asked.method == "PUT":
            same = own["metadata"].get("resourceVersion") == self.objects[path]["metadata"]["resourceVersion"]
            return self._put(path, own) if same else refusal(409, "the object has been modified")
        if asked.method == "PATCH":
            return self._put(path, {**self.objects[path], **own})
        return Answer(json.dumps(self.objects[path]).encode())

    def _put(self, path: str, own: Any) -> Answer:
        self.version += 1
        own["metadata"]["resourceVersion"] = str(self.version)
        self.objects[path] = own
        return Answer(json.dumps(own).encode())
