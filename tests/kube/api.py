"""Requests to the API server, with somebody's certificate."""

import ssl
from pathlib import Path
from typing import Any

import httpx

Json = dict[str, Any]
JSON, MERGE, STRATEGIC = (f"application/{kind}json" for kind in ("", "merge-patch+", "strategic-merge-patch+"))


class Api:
    """As JSON; what the server refuses is returned like any other answer."""

    def __init__(self, server: str, authority: Path, certificate: Path, key: Path) -> None:
        context = ssl.create_default_context(cafile=str(authority))
        context.load_cert_chain(certificate, key)
        self.client = httpx.Client(base_url=server, verify=context, timeout=30, trust_env=False)

    def ask(self, method: str, path: str, content: Json | None = None, kind: str = JSON) -> httpx.Response:
        return self.client.request(
            method, path, json=content, headers={"Content-Type": kind} if content is not None else {}
        )

    def get(self, path: str) -> Json | None:
        """None where there is nothing."""
        answer = self.ask("GET", path)
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        return _content(answer)

    def post(self, path: str, content: Json) -> Json:
        return _content(self.ask("POST", path, content))

    def delete(self, path: str) -> None:
        answer = self.ask("DELETE", path)
        if answer.status_code != httpx.codes.NOT_FOUND:
            _content(answer)

    def pods(self, namespace: str = "default", node: str = "") -> dict[str, Json]:
        """Those of one node, where it is named."""
        only = f"?fieldSelector=spec.nodeName%3D{node}" if node else ""
        listed = self.get(f"/api/v1/namespaces/{namespace}/pods{only}") or {"items": []}
        return {pod["metadata"]["name"]: pod for pod in listed["items"]}

    def close(self) -> None:
        self.client.close()


def _content(answer: httpx.Response) -> Json:
    if answer.is_error:
        raise RuntimeError(f"{answer.request.method} {answer.request.url.path}: {answer.text[:500]}")
    content: Json = answer.json()
    return content
