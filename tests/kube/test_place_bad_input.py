"""The placer on a real control plane where somebody tampers with its objects, takes its rights, deletes what it needs.

Its control plane is its own: definitions and namespaces are deleted here, and the API server is started again.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from numafit.cluster.topology.digest import state_digest
from numafit.cluster.topology.model import PATH, NodeTopology
from tests.kube.api import MERGE, Json
from tests.kube.build import binaries, missing
from tests.kube.control_plane import ControlPlane
from tests.kube.placing import (
    CONFIG,
    NAMESPACE,
    PlacerProcess,
    aligned,
    allowed_placer,
    define_topologies,
    make_namespace,
    placing,
    replica_set,
)
from tests.kube.processes import until
from tests.kube.simulation import simulated

pytestmark = pytest.mark.real

SPACE = "bad-input"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
MACHINE = "sketch:2 sockets x 8 cores x 2 threads, 32Gi per numa"
WAITING, NODES = "numafit_place_waiting_pods", "numafit_place_nodes"
WEBHOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/numafit-place"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/numafit-place-webhook"
MANY = int(os.environ.get("NUMAFIT_MANY_WAITING") or 1000)
"""Pods that wait at once; 10,000 take some minutes to make."""


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[ControlPlane]:
    if lacking := missing():
        pytest.skip(lacking)
    folder = Path(tempfile.mkdtemp(prefix="numafit-kube-"))
    try:
        with ControlPlane(folder / "cluster", binaries()) as cluster:
            define_topologies(cluster)
            make_namespace(cluster, NAMESPACE)
            groups = [{"name": "n", "count": 3, "machine": MACHINE, "kubelet": CONFIG, "startSeconds": 0.1}]
            with simulated(cluster.kubeconfig, folder / "sim", groups, "--topology"):
                yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def allowed(own_cluster: ControlPlane) -> Iterator[Path]:
    with allowed_placer(own_cluster) as kubeconfig:
        yield kubeconfig


@pytest.fixture(scope="module")
def placer(allowed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlacerProcess]:
    """One for all that happens here: it lives through everything."""
    with placing(allowed, tmp_path_factory.mktemp("place")) as own:
        yield own
        assert own.process is not None
        assert own.process.poll() is None, own.log.read_text()
        assert own.metric("numafit_place_faults_total") == 0


@pytest.fixture
def space(own_cluster: ControlPlane) -> Iterator[ControlPlane]:
    make_namespace(own_cluster, SPACE)
    yield own_cluster
    emptied(own_cluster)


def emptied(cluster: ControlPlane) -> None:
    def is_empty() -> bool:
        # To delete thousands takes longer than one answer may.
        with suppress(httpx.TimeoutException):
            cluster.api.ask("DELETE", PODS)
            return not cluster.api.pods(SPACE)
        return False

    until("all pods are gone", 600, is_empty, 1)


def make(cluster: ControlPlane, name: str, cpus: int = 2, **spec: Any) -> Json:
    content = {"metadata": {"name": name}, "spec": aligned(cpus, terminationGracePeriodSeconds=0, **spec)}
    return cluster.api.post(PODS, content)


def phase(cluster: ControlPlane, name: str) -> str:
    return str((cluster.api.get(f"{PODS}/{name}") or {"status": {}})["status"].get("phase", ""))


def is_gated(cluster: ControlPlane, name: str) -> bool:
    return bool((cluster.api.get(f"{PODS}/{name}") or {"spec": {}})["spec"].get("schedulingGates"))


def runs(cluster: ControlPlane, name: str, seconds: float = 60) -> None:
    until(f"{name} runs", seconds, lambda: phase(cluster, name) == "Running")


def known(placer: PlacerProcess, state: str = "known") -> float:
    return placer.metric_of(NODES, f'state="{state}"')


@pytest.fixture
def ghost(space: ControlPlane, placer: PlacerProcess) -> Iterator[Json]:
    """A Node and a NodeTopology that nobody but the tests writes: the latter."""
    node, topology = space.api.get("/api/v1/nodes/n-0"), space.api.get(f"{PATH}/n-0")
    assert node is not None
    assert topology is not None
    labels = {**node["metadata"]["labels"], "kubernetes.io/hostname": "ghost", "numafit.io/simulated": "false"}
    space.api.post("/api/v1/nodes", {"metadata": {"name": "ghost", "labels": labels}})
    own = {name: topology[name] for name in ("apiVersion", "kind", "status")} | {"metadata": {"name": "ghost"}}
    space.api.post(PATH, own)
    write(space, own["status"])
    until("it is known", 60, lambda: known(placer) == 4)
    yield own
    space.api.delete(f"{PATH}/ghost")
    space.api.delete("/api/v1/nodes/ghost")
    until("it is forgotten", 60, lambda: known(placer) == 3 and known(placer, "unreported") == 0)


def write(cluster: ControlPlane, status: Json) -> None:
    """Where the status is a part of its own, and where it is not."""
    for path in (f"{PATH}/ghost/status", f"{PATH}/ghost"):
        answer = cluster.api.ask("PATCH", path, {"status": status}, MERGE)
        if answer.status_code != 404:
            break
    assert answer.is_success, answer.text


def damaged(status: Json) -> Json:
    """Nonsense with the digest that belongs to it, as an agent with a fault would write it."""
    bad = {**status, "sharedPool": "0-100000"}
    content = {"metadata": {"name": "ghost"}, "status": bad}
    read = msgspec.json.decode(msgspec.json.encode(content), type=NodeTopology)
    return {**bad, "digest": state_digest(read.status)}


@pytest.mark.parametrize(
    ("change", "told", "finding"),
    [
        (lambda own: {**own, "sharedPool": "0-3"}, "was changed by others than the agent", "topology-changed"),
        (lambda own: {**own, "format": 99}, "it has format 99, and this numafit understands up to", "topology-too-new"),
        (damaged, "status.sharedPool", "topology-unusable"),
    ],
    ids=["tampered", "too-new", "nonsense"],
)
def test_an_object_that_cannot_be_used_makes_its_node_unknown_until_it_is_written_anew(
    space: ControlPlane, placer: PlacerProcess, ghost: Json, change: Callable[[Json], Json], told: str, finding: str
) -> None:
    write(space, change(ghost["status"]))
    until("the node is unusable", 60, lambda: known(placer, "unusable") == 1)
    until("that is said", 60, lambda: told in placer.log.read_text())
    doctor = [sys.executable, "-m", "numafit", "fleet", "doctor", "-o", "json", f"--kubeconfig={space.kubeconfig}"]
    assert finding in subprocess.run(doctor, capture_output=True, text=True, check=False).stdout
    # Others are placed meanwhile, on what is known.
    make(space, "meanwhile")
    runs(space, "meanwhile")
    write(space, ghost["status"])
    until("the node is known again", 60, lambda: known(placer) == 4)
    until("that is said", 60, lambda: "known again: ghost" in placer.log.read_text())


def test_a_node_that_goes_while_it_is_offered_is_no_trouble(
    space: ControlPlane, placer: PlacerProcess, ghost: Json
) -> None:
    make(space, "ghostly", nodeSelector={"kubernetes.io/hostname": "ghost"})
    until("it waits, or is offered", 60, lambda: space.api.get(f"{PODS}/ghostly"))
    space.api.delete("/api/v1/nodes/ghost")
    until("it is gone", 60, lambda: known(placer) == 3)
    make(space, "after")
    runs(space, "after")


def test_a_namespace_goes_while_its_pods_wait_are_placed_and_run(
    own_cluster: ControlPlane, placer: PlacerProcess
) -> None:
    make_namespace(own_cluster, "leaving")
    sets = "/apis/apps/v1/namespaces/leaving/replicasets"
    own_cluster.api.post(sets, replica_set("many", 30, aligned(6, terminationGracePeriodSeconds=0)))
    until("some wait", 60, lambda: placer.metric(WAITING) >= 5)
    own_cluster.api.delete("/api/v1/namespaces/leaving")
    until("it is gone", 120, lambda: own_cluster.api.get("/api/v1/namespaces/leaving") is None)
    until("nobody waits any more", 60, lambda: placer.metric(WAITING) == 0)
    # All that its pods held is free again.
    make_namespace(own_cluster, SPACE)
    for index in range(6):
        make(own_cluster, f"large-{index}", 14)
    for index in range(6):
        runs(own_cluster, f"large-{index}")
    emptied(own_cluster)


def test_rights_that_are_taken_away_are_named_and_all_goes_on_once_they_are_back(
    space: ControlPlane, placer: PlacerProcess
) -> None:
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    (role,) = [
        own
        for own in (space.api.get(roles) or {})["items"]
        if own["metadata"]["name"].startswith("numafit-place") and any("pods" in r["resources"] for r in own["rules"])
    ]
    path = f"{roles}/{role['metadata']['name']}"
    lesser = [
        {**rule, "verbs": [verb for verb in rule["verbs"] if "pods" not in rule["resources"] or verb != "patch"]}
        for rule in role["rules"]
    ]
    assert lesser != role["rules"]
    space.api.ask("PATCH", path, {"rules": lesser}, MERGE)
    try:
        make(space, "refused")
        until("it is missed", 60, lambda: "a right is missing" in placer.log.read_text())
        assert 'patch resource "pods"' in placer.log.read_text()
        assert is_gated(space, "refused")
    finally:
        space.api.ask("PATCH", path, {"rules": role["rules"]}, MERGE)
    runs(space, "refused", 120)


def test_secret_and_webhook_configuration_come_back(space: ControlPlane, placer: PlacerProcess) -> None:
    for path in (SECRET, WEBHOOK):
        space.api.delete(path)
    make(space, "between")
    runs(space, "between")
    until("both are there", 60, lambda: space.api.get(SECRET) and space.api.get(WEBHOOK))
    before, names = gated(placer), (f"after-{number}" for number in count())

    def asked() -> bool:
        make(space, next(names), 1)
        return gated(placer) > before

    until("the API server asks again", 120, asked, 1)


def gated(placer: PlacerProcess) -> float:
    """Pods that its webhook has gated."""
    return placer.metric_of("numafit_webhook_reviews_total", 'result="gated"')


def test_the_api_server_starts_again(space: ControlPlane, placer: PlacerProcess) -> None:
    space.processes["kube-apiserver"].kill()
    space.processes["kube-apiserver"].wait()
    time.sleep(2)
    space.start_again("kube-apiserver")

    def made() -> bool:
        try:
            make(space, "again")
        except Exception:
            return False
        return True

    until("a pod can be made", 60, made, 0.5)
    runs(space, "again", 120)


def cpu_seconds(placer: PlacerProcess) -> float:
    assert placer.process is not None
    fields = Path(f"/proc/{placer.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_bytes(placer: PlacerProcess) -> int:
    assert placer.process is not None
    status = Path(f"/proc/{placer.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def test_many_waiting_pods_cost_little_and_the_first_one_goes_as_soon_as_it_can(
    space: ControlPlane, placer: PlacerProcess
) -> None:
    """Numbers are printed, not asserted, but for what is bounded by rule: twenty conditions in a second at most."""
    before = memory_bytes(placer)
    for index in range(6):
        make(space, f"holder-{index}", 14)
    for index in range(6):
        runs(space, f"holder-{index}")
    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda index: make(space, f"many-{index:05}", 8), range(MANY)))
    made = time.monotonic() - began
    until("all wait", 120, lambda: placer.metric(WAITING) == MANY, 0.5)
    told, cpu, at = placer.metric("numafit_place_conditions_total"), cpu_seconds(placer), time.monotonic()
    time.sleep(10)
    seconds = time.monotonic() - at
    told, cpu = placer.metric("numafit_place_conditions_total") - told, cpu_seconds(placer) - cpu
    print(
        f"{MANY} pods made in {made:.1f} s; then {cpu / seconds:.0%} of a CPU, {told / seconds:.1f} conditions a second"
    )
    print(f"{(memory_bytes(placer) - before) / 2**20:.1f} MiB more")
    assert told / seconds <= 21
    began = time.monotonic()
    node = (space.api.get(f"{PODS}/holder-0") or {})["spec"]["nodeName"]
    version = (space.api.get(f"{PATH}/{node}") or {})["metadata"]["resourceVersion"]
    space.api.delete(f"{PODS}/holder-0")
    until(
        "the node reports",
        60,
        lambda: (space.api.get(f"{PATH}/{node}") or {})["metadata"]["resourceVersion"] != version,
    )
    print(f"the node reported after {time.monotonic() - began:.2f} s")
    until("one of them goes", 60, lambda: not is_gated(space, "many-00000"))
    print(f"the first one went after {time.monotonic() - began:.2f} s")


def test_all_that_wait_are_released_by_one_command(space: ControlPlane, placer: PlacerProcess) -> None:
    """After the placer has stopped, as the page says it."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda index: make(space, f"many-{index:05}", 14), range(MANY)))
    until("they wait", 120, lambda: placer.metric(WAITING) >= MANY - 6, 0.5)
    assert placer.stop() == 0
    try:
        began = time.monotonic()
        command = [sys.executable, "-m", "numafit", "place", "--ungate", f"--kubeconfig={space.kubeconfig}"]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        print(f"{said.stdout}{said.stderr}{time.monotonic() - began:.1f} s")
        assert not any(pod["spec"].get("schedulingGates") for pod in space.api.pods(SPACE).values())
    finally:
        placer.start()
        until("it is ready again", 60, placer.ready)
