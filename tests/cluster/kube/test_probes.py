"""How a process tells Prometheus and its kubelet how it is."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from numafit.cluster.kube.probes import ALIVE_SECONDS, LoopPulse, ProbePlace, serve_probes
from numafit.cluster.up.ports import free_ports
from numafit.errors import InputError


class One(Collector):
    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("numafit_one", "One", 1)


@contextmanager
def probed(unready: str = "", dead: str = "") -> Iterator[int]:
    (port,) = free_ports(1)
    end = serve_probes(ProbePlace("127.0.0.1", port), [One()], lambda: unready, lambda: dead)
    try:
        yield port
    finally:
        end()


def asked(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_metrics_and_both_questions_of_the_kubelet_are_answered() -> None:
    with probed() as port:
        assert "numafit_one 1.0" in asked(port, "/metrics")[1].splitlines()
        assert [asked(port, path) for path in ("/readyz", "/livez")] == [(200, "ok\n")] * 2
        assert asked(port, "/")[0] == 404


def test_what_is_missing_is_said() -> None:
    with probed("not listed yet", "it stands still") as port:
        assert asked(port, "/readyz") == (503, "not listed yet\n")
        assert asked(port, "/livez") == (503, "it stands still\n")


def test_a_port_that_is_taken_is_said_with_its_options_and_port_0_is_for_none() -> None:
    with probed() as port, pytest.raises(InputError, match=rf"127.0.0.1:{port}: .*--metrics-port"):
        serve_probes(ProbePlace("127.0.0.1", port), (), str, str)
    serve_probes(ProbePlace("127.0.0.1", 0), (), str, str)()


def test_a_loop_that_stands_still_is_ill() -> None:
    pulse = LoopPulse()
    assert pulse.dead() == ""
    pulse.turned -= ALIVE_SECONDS + 1
    assert pulse.dead() == "its loop stands still"
    pulse.beat()
    assert pulse.dead() == ""
