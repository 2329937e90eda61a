"""The little that an API server is asked and told while its cluster starts, with Python's own HTTP."""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any

SECONDS = 10
APPLY = "application/apply-patch+yaml"


class ApiProbe:
    """As whom the certificate names; a connection for each question."""

    def __init__(self, port: int, authority: Path, certificate: Path, key: Path) -> None:
        self.port = port
        self.context = ssl.create_default_context(cafile=str(authority))
        self.context.load_cert_chain(certificate, key)

    def get(self, path: str) -> Any:
        """None where nobody answers yet, or not with what was asked for. `Any`: it is JSON."""
        text = self.text(path)
        return None if text is None else json.loads(text)

    def apply(self, path: str, content: str) -> str | None:
        """Server-side, YAML; None where it is not taken."""
        return self.text(f"{path}?fieldManager=numafit&force=true", "PATCH", content.encode(), APPLY)

    def text(self, path: str, method: str = "GET", content: bytes | None = None, kind: str = "") -> str | None:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=SECONDS, context=self.context)
        try:
            connection.request(method, path, content, {"Content-Type": kind} if kind else {})
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
            return text if answer.status in (http.client.OK, http.client.CREATED) else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
