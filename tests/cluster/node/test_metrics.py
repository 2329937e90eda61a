import urllib.error
import urllib.request

import pytest

from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.node.metrics import ALIVE_SECONDS, AgentCounts, serve_metrics
from numafit.errors import InputError
from tests.kube.processes import free_ports


def asked(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        text: str = answer.read().decode()
        return text


def test_what_is_counted_is_served() -> None:
    counts = AgentCounts()
    counts.decisions["not comparable"] = 3
    counts.notes = {"node-not-learnt": 2}
    (port,) = free_ports(1)
    end = serve_metrics("127.0.0.1", port, counts, ApiHealth())
    try:
        lines = asked(port, "/metrics").splitlines()
        assert 'numafit_node_decisions_total{result="not_comparable"} 3.0' in lines
        assert 'numafit_node_notes{code="node-not-learnt"} 2.0' in lines
        assert asked(port, "/healthz") == "ok\n"
        counts.seconds -= ALIVE_SECONDS
        with pytest.raises(urllib.error.HTTPError, match="503"):
            asked(port, "/healthz")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            asked(port, "/")
        with pytest.raises(InputError, match="cannot listen"):
            serve_metrics("127.0.0.1", port, counts, ApiHealth())
    finally:
        end()
