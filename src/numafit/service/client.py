"""Asking a running agent, by its address: `http://127.0.0.1:8470` or the path of its unix socket."""

import http.client
import os
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from numafit.errors import InputError
from numafit.host.unix_http import NoAnswer, UnixConnection, exchange

T = TypeVar("T")

SECONDS = 20.0
TOKEN = "NUMAFIT_TOKEN"
"""Variable with the token of an agent that demands one."""


def fetched(address: str, path: str, kind: type[T]) -> T:
    """What the agent answers to GET; raises InputError where it does not."""
    headers = {"Authorization": f"Bearer {os.environ[TOKEN]}"} if os.environ.get(TOKEN) else {}
    try:
        answer = exchange(_connection(address), "GET", path, headers=headers)
    except NoAnswer as reason:
        raise InputError(
            f"the agent does not answer: {reason}", source=address, cure="is `numafit serve` running there?"
        ) from None
    try:
        if answer.status != http.client.OK:
            problem = msgspec.json.decode(answer.data, type=dict[str, object])
            raise InputError(f"the agent refuses: {problem.get('detail', answer.reason)}", source=address)
        return msgspec.json.decode(answer.data, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise InputError("this is no agent of numafit", source=address) from None


def _connection(address: str) -> http.client.HTTPConnection:
    if address.startswith("/"):
        return UnixConnection(address, SECONDS)
    parts = urlsplit(address)
    makers: dict[str, Callable[..., http.client.HTTPConnection]] = {
        "http": http.client.HTTPConnection,
        "https": http.client.HTTPSConnection,
    }
    try:
        if parts.scheme in makers and parts.hostname:
            return makers[parts.scheme](parts.hostname, parts.port, timeout=SECONDS)
    except ValueError:
        pass
    cure = "write it like http://127.0.0.1:8470, or as the path of a unix socket"
    raise InputError("is no address of an agent", source=address, cure=cure)
