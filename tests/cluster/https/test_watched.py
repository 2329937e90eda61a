"""What a process tells to those who watch it."""

import asyncio

from numafit.cluster.https.messages import ServerAnswer, ServerRequest
from numafit.cluster.https.watched import watched
from numafit.cluster.kube.health import ApiHealth, HealthCollector


def asked(path: str, missing: str = "", method: str = "GET") -> ServerAnswer:
    health = ApiHealth()
    health.lists["pods"] += 1
    own = watched((HealthCollector(health),), lambda: missing)
    answer = own(ServerRequest(method, path, b""))
    return asyncio.run(asyncio.wait_for(answer, 5))


def test_metrics_are_those_of_the_collectors() -> None:
    assert b'numafit_api_server_lists_total{resource="pods"} 1.0' in asked("/metrics").content


def test_a_process_that_lacks_something_is_alive_but_not_ready() -> None:
    assert (asked("/readyz").status, asked("/livez").status) == (200, 200)
    assert (asked("/readyz", "no nodes yet").status, asked("/readyz", "no nodes yet").content) == (
        503,
        b"no nodes yet\n",
    )
    assert asked("/livez", "no nodes yet").status == 200


def test_other_paths_and_methods_are_refused() -> None:
    assert asked("/x").status == 404
    assert asked("/metrics", method="POST").status == 405
