"""The two ways to a Docker engine: HTTP on its unix socket, and the `docker` command."""

import http.client
import subprocess
from typing import TypeVar

import msgspec

from numafit.host.unix_http import UnixConnection

UNIX = "unix://"
PATIENCE = 5.0
"""Seconds; a sick engine must not hold up the ledger for ever."""
_MOST_BYTES = 64 << 20

T = TypeVar("T")


class Silent(Exception):
    """The engine does not answer, or answers what cannot be understood; the text says why."""


def ask(address: str, method: str, path: str, body: bytes = b"") -> bytes | None:
    """None: there is no such container."""
    connection = UnixConnection(address.removeprefix(UNIX), PATIENCE)
    try:
        connection.request(method, path, body or None, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        data = answer.read(_MOST_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise Silent(f"{address}: {getattr(error, 'strerror', None) or error or type(error).__name__}") from None
    finally:
        connection.close()
    if answer.status == http.client.NOT_FOUND:
        return None
    if answer.status >= http.client.BAD_REQUEST:
        raise Silent(_message(data) or f"{address}: it answers with status {answer.status}")
    return data


def _message(data: bytes) -> str:
    try:
        return str(msgspec.json.decode(data, type=dict[str, object]).get("message") or "").strip()
    except msgspec.DecodeError:
        return ""


def command(line: list[str]) -> str:
    try:
        done = subprocess.run(
            line, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False, text=True
        )
    except OSError as error:
        raise Silent(f"{line[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Silent(f"{' '.join(line[:4])}: no answer in {PATIENCE:.0f} s") from None
    if done.returncode:
        raise Silent(" ".join(done.stderr.split())[:500] or f"{' '.join(line[:4])}: status {done.returncode}")
    return done.stdout


def decoded(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise Silent(f"the engine answers what is not understood: {error}") from None
