"""Asking an agent that may be something else."""

import pytest

from numafit.errors import InputError
from numafit.service.client import fetched
from tests.cluster.api_server import ApiServer, Reply, serving


@pytest.mark.parametrize("body", [b"hello", b'{"x": "\xff"}', b'{"x": ' + b"[" * 100_000])
def test_whatever_is_no_answer_of_an_agent_is_one_sentence(body: bytes) -> None:
    server = ApiServer()
    server.replies["/state"] = Reply(body=body)
    with serving(server), pytest.raises(InputError, match="this is no agent of numafit"):
        fetched(server.url, "/state", dict[str, str])
