"""The few questions to an API server while its cluster starts, with Python's own HTTP."""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any

SECONDS = 10


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

    def text(self, path: str) -> str | None:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=SECONDS, context=self.context)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            content = answer.read().decode(errors="replace")
            return content if answer.status == http.client.OK else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
