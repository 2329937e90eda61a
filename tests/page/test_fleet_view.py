"""The page of a whole cluster in a real browser, with an API server that the test plays."""

import asyncio
import json
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from numafit.cluster.live.words import PLACE_GATE, PLACED
from tests.cluster.kube.scripted_server import scripted, told
from tests.cluster.live.cluster_objects import lenient_stage, node_object, pod, pod_object, topology_object
from tests.cluster.live.test_fleet import PlayedCluster, versioned
from tests.cluster.topology.nodes import with_pods_on
from tests.page.conftest import Open

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.real

WHY = "5 GPUs on one NUMA node: no node has them"


class FleetPage:
    def __init__(self, process: subprocess.Popen[str], address: str, played: PlayedCluster) -> None:
        self.process, self.address, self.played = process, address, played


def cluster() -> PlayedCluster:
    played = PlayedCluster()
    placed = {"type": PLACED, "status": "False", "reason": "Waiting", "message": WHY}
    waits = pod_object("waits", gpus=5, gates=(PLACE_GATE,), conditions=[placed])
    bad = pod_object("bad", gpus=2, node="gpu-2", phase="Failed", reason="TopologyAffinityError", message="no")
    bad["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}]
    half = with_pods_on(lenient_stage(), pod("a", cpus=8, gpus=4).pod)
    played.lists = {
        "nodes": [node_object("gpu-10"), node_object("gpu-2"), node_object("old")],
        "nodetopologies": [topology_object("gpu-10"), topology_object("gpu-2", half)],
        "pods": [waits],
        "failed": [bad],
    }
    return played


def kubeconfig(folder: Path, port: int) -> Path:
    file = folder / "kubeconfig"
    named = {"name": "x"}
    value = {
        "clusters": [{**named, "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "contexts": [{**named, "context": {"cluster": "x", "user": "x"}}],
        "users": [{**named, "user": {}}],
        "current-context": "x",
    }
    file.write_text(json.dumps(value))
    return file


async def serve(played: PlayedCluster, ports: "queue.Queue[int]", end: threading.Event) -> None:
    async with scripted(played) as (server, _):
        ports.put(server.port)
        while not end.is_set():
            for writer in server.writers if played.halts else ():
                writer.close()
            await asyncio.sleep(0.05)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[FleetPage]:
    played, ports, told_to_end = cluster(), queue.Queue[int](), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(serve(played, ports, told_to_end)), daemon=True)
    thread.start()
    file = kubeconfig(tmp_path, ports.get(timeout=20))
    command = [sys.executable, "-m", "numafit", "serve", "--fleet", "--port=0", f"--kubeconfig={file}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"at (http://127\.0\.0\.1:\d+)", process.stdout.readline())
    assert found
    yield FleetPage(process, found[1], played)
    process.terminate()
    assert process.wait(20) == 0
    process.stdout.close()
    told_to_end.set()
    thread.join(10)


def names(page: "Page") -> list[str]:
    found: list[str] = page.locator(".fleet-tile .name").all_inner_texts()
    return found


def test_nodes_are_small_machines_the_most_stranded_first(
    open_page: Open, fleet: FleetPage, picture: Callable[["Page"], bytes]
) -> None:
    page = open_page(agent=fleet)
    page.wait_for_selector(".fleet-tile")
    assert names(page) == ["gpu-2", "gpu-10", "old"]
    assert page.locator(".fleet-tile").first.locator(".stranded").count() > 0
    assert "no agent of numafit publishes" in page.locator(".fleet-tile.unknown").inner_text()
    assert "3 nodes, 1 not known" in page.locator(".facts").inner_text()
    picture(page)


def test_who_waits_and_whose_pods_were_rejected_is_said(open_page: Open, fleet: FleetPage) -> None:
    page = open_page(agent=fleet, size=(420, 800))
    page.wait_for_selector(".fleet-list li")
    lists: list[str] = page.locator(".fleet-list").all_inner_texts()
    assert "team/waits" in lists[0]
    assert WHY in lists[0]
    assert "ReplicaSet team/web" in lists[1]
    assert "1 rejected pod" in lists[1]
    width: Any = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 420


def test_a_search_and_a_change_are_shown_at_once(open_page: Open, fleet: FleetPage) -> None:
    page = open_page(agent=fleet)
    page.wait_for_selector(".fleet-tile")
    page.fill("input[type=search]", "gpu-1")
    assert names(page) == ["gpu-10"]
    fleet.played.lines["nodes"] = [told("MODIFIED", versioned(node_object("gpu-10", unschedulable=True), 9))]
    fleet.played.goes_on = True
    page.wait_for_selector("text=cordoned")


def test_a_cluster_that_does_not_answer_is_not_called_live(open_page: Open, fleet: FleetPage) -> None:
    fleet.played.goes_on = True
    page = open_page(agent=fleet)
    page.wait_for_selector(".connection:text-is('live')")
    fleet.played.halts = True
    page.wait_for_selector(".notice.doubtful:has-text('API server')")
    assert page.inner_text(".connection") == "not live"
    # The shared stream tells a tab that comes later, too, and it asks for the whole.
    other = page.context.new_page()
    other.goto(fleet.address)
    other.wait_for_selector(".notice.doubtful:has-text('API server')")
    assert names(other) == names(page)
