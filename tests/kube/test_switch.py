"""`numafit node switch` on a real kubelet: budgets, kills at each step, and configurations that only it refuses."""

import json
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kube.api import Json
from tests.kube.captured import ARCHIVE
from tests.kube.control_plane import ControlPlane
from tests.kube.kubelet import FOLDER, KubeletNode, changed
from tests.kube.mounts import entered, seen_from
from tests.kube.processes import start, until
from tests.kube.service import KubeletService

pytestmark = pytest.mark.real

DOCS = Path(__file__).resolve().parents[2] / "docs" / "node-switch.md"
STEPS = ("cordon", "drain", "stop", "keep", "clear", "write", "start", "ready", "verify", "uncordon")
MOST_TRIES = 10
NONE: Json = {"cpuManagerPolicy": "none"}
STATIC: Json = {"cpuManagerPolicy": "static", "topologyManagerPolicy": "best-effort"}
RBAC = "/apis/rbac.authorization.k8s.io/v1"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SETS = "/apis/apps/v1/namespaces/default"


class SwitchedNode:
    """A node with the command on it, as somebody whom RBAC gives what the page says and nothing else."""

    def __init__(self, node: KubeletNode, service: KubeletService, kubeconfig: Path) -> None:
        self.node, self.service, self.kubeconfig = node, service, kubeconfig
        self.log = node.folder / "switch.log"
        self.journal = seen_from(node.outside.process.pid, f"{FOLDER}/numafit-switch/journal.jsonl")

    def new(self, config: Mapping[str, Any]) -> Path:
        path = self.node.folder / "new.json"
        path.write_text(json.dumps(changed(self.node.base, config), indent=1))
        return path

    def begin(self, *words: object) -> subprocess.Popen[bytes]:
        options = [
            *("--config", self.node.config, "--node", self.node.name, "--kubeconfig", self.kubeconfig),
            *("--stop-command", self.service.command("stop"), "--start-command", self.service.command("start")),
            *("--settle", "0.5", "--ready-timeout", "60", "--drain-timeout", "60"),
        ]
        command = [sys.executable, "-m", "numafit", "node", "switch", *map(str, (*words, *options))]
        return start(entered(self.node.outside.process.pid, self.node.folder / "command", command), self.log)

    def run(self, *words: object) -> tuple[int, str]:
        """Exit status, and what it said."""
        before = len(self.said())
        status = self.begin(*words).wait(150)
        return status, self.said()[before:]

    def said(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def answer(self) -> Json:
        """The last one that was given with `-o json`."""
        said = self.said()
        content: Json = json.loads(said[said.rindex('{\n  "outcome"') :].partition("\n}\n")[0] + "\n}")
        return content

    def policy(self) -> str:
        found = self.node.state_files()["cpu_manager_state"]
        return str(found["policyName"]) if found else ""

    def configured(self) -> str:
        return str(json.loads(self.node.config.read_text())["cpuManagerPolicy"])

    def is_open(self) -> bool:
        return not ((self.node.node() or {})["spec"].get("unschedulable"))

    def stands(self, policy: str) -> bool:
        """One kubelet, one policy, everywhere."""
        there = (self.configured(), self.policy(), self.node.ended, self.is_open(), self.journal.exists())
        return there == (policy, policy, False, True, False) and self.node.is_ready()

    def killed_at(self, step: str, before: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        """As soon as the journal tells of the step. The last ones take milliseconds: where it has ended before the
        kill, the node gets what it had `before`, and it is tried again."""
        for _ in range(MOST_TRIES):
            process = self.begin(self.new(config), "--yes")
            self._wait_for(step, process)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if self.journal.exists():
                return
            status, said = self.run(self.new(before), "--yes")
            assert status == 0, said
        raise TimeoutError(f"{step} was over each time before it could be killed")

    def _wait_for(self, step: str, process: subprocess.Popen[bytes]) -> None:
        sign = f'"step":"{step}","event":"begun"'
        until(f"the step {step}", 60, lambda: self._tells(sign) or process.poll() is not None, 0.0)

    def _tells(self, sign: str) -> bool:
        try:
            return sign in self.journal.read_text()
        except FileNotFoundError:
            return False


@pytest.fixture(scope="module")
def kubeconfig(cluster: ControlPlane) -> Path:
    """Of somebody who has the ClusterRole of the documentation."""
    role = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", DOCS.read_text(), re.DOTALL)[0])
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "switcher"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role["metadata"]["name"]},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "switcher"}],
    }
    cluster.api.post(f"{RBAC}/clusterroles", role)
    cluster.api.post(f"{RBAC}/clusterrolebindings", binding)
    return cluster.authority.kubeconfig("switcher", cluster.server, "switcher")


@pytest.fixture
def switched(kubelets: None, cluster: ControlPlane, short_folder: Path, kubeconfig: Path) -> Iterator[SwitchedNode]:
    folder = Path(tempfile.mkdtemp(prefix="sw", dir=short_folder))
    node = KubeletNode(cluster, folder / "n", "switch", ARCHIVE, NONE)
    service = KubeletService(node, node.folder / "service")
    assert node.start()
    yield SwitchedNode(node, service, kubeconfig)
    service.close()
    node.close()


def pod_spec(cpus: int) -> Json:
    limits = {"cpu": str(cpus), "memory": "64Mi"}
    return {
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "nodeSelector": {"kubernetes.io/hostname": "switch"},
        "containers": [{"name": "c", "image": "none:1", "imagePullPolicy": "Never", "resources": {"limits": limits}}],
    }


def controller(kind: str, name: str, cpus: int, **more: Any) -> Json:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(cpus)}
    spec = {**more, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def running(node: KubeletNode, count: int) -> dict[str, Json]:
    def found() -> dict[str, Json] | None:
        pods = {name: pod for name, pod in node.pods().items() if pod["status"].get("phase") == "Running"}
        return pods if len(pods) == count else None

    return until(f"{count} pods run", 60, found)


def exclusive(node: KubeletNode) -> dict[str, str]:
    """Pod UID -> CPUs."""
    found = node.state_files()["cpu_manager_state"].get("entries") or {}
    return {uid: own["c"] for uid, own in found.items()}


def foretold(answer: Json) -> dict[str, str]:
    """Pod -> the CPUs that the plan gave it."""
    return {fate["pod"]: each["becomes"] for fate in answer["plan"]["fates"] for each in fate["differences"]}


def test_a_switch_says_what_comes_and_waits_for_budgets(switched: SwitchedNode) -> None:
    """One story, since a start takes its time."""
    node, api = switched.node, switched.node.api
    api.post(f"{SETS}/replicasets", controller("ReplicaSet", "web", 2, replicas=2))
    api.post(f"{SETS}/daemonsets", controller("DaemonSet", "agent", 1))
    budget = {"metadata": {"name": "web"}, "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}}
    api.post(BUDGETS, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **budget})
    before = running(node, 3)

    # nothing is touched by a plan, nor by one that says no
    status, said = switched.run(switched.new(STATIC), "--dry-run")
    assert status == 0, said
    assert "cpuManagerPolicy: none -> static" in said
    assert said.count("is evicted; where it comes back, it gets another place") == 2
    assert "belongs to DaemonSet agent" in said
    status, said = switched.run(switched.new({"cpuManagerPolicy": "statik"}), "--yes")
    assert status == 1, said
    assert "would not start" in said
    status, said = switched.run(switched.new(STATIC))
    assert status == 2, said
    assert "there is nobody to ask" in said
    assert switched.stands("none")

    # a budget is waited for, and named
    process = switched.begin(switched.new(STATIC), "--yes", "-o", "json")
    until("the budget is named", 60, lambda: "The disruption budget web needs 2 healthy pods" in switched.said())
    assert process.poll() is None
    status, said = switched.run(switched.new(STATIC), "--yes")
    assert status == 2, said
    assert "another switch of this node is at work" in said
    api.delete(f"{BUDGETS}/web")
    assert process.wait(120) == 0, switched.said()
    assert switched.stands("static")

    # those who come back sit where the plan said
    after = running(node, 3)
    assert len(set(before) & set(after)) == 1, "the DaemonSet's pod stayed"
    until("all hold CPUs", 60, lambda: len(exclusive(node)) == 3)
    answer = switched.answer()
    assert answer["outcome"] == "switched"
    assert sorted(foretold(answer).values()) == sorted(exclusive(node).values())
    assert Path(seen_from(node.outside.process.pid, answer["kept"]), "before", "cpu_manager_state").exists()

    # pods that are kept keep their CPUs, where no state file minds
    held = exclusive(node)
    status, said = switched.run(switched.new({**STATIC, "topologyManagerPolicy": "restricted"}), "--keep-pods", "--yes")
    assert status == 0, said
    assert switched.stands("static")
    assert exclusive(node) == held
    assert set(running(node, 3)) == set(after)

    # and get others, where one does
    status, said = switched.run(switched.new(NONE), "--keep-pods", "--yes")
    assert status == 0, said
    assert switched.stands("none")
    assert set(running(node, 3)) == set(after)
    status, said = switched.run(switched.new(STATIC), "--keep-pods", "--yes", "-o", "json")
    assert status == 0, said
    assert switched.stands("static")
    until("all hold CPUs", 60, lambda: len(exclusive(node)) == 3)
    # pods that were created within one second come in any order
    held = exclusive(node)
    assert sorted(foretold(switched.answer()).values()) == sorted(held.values())

    # a configuration that only the kubelet refuses: back to what ran before, with the pods that were there
    broken = {**NONE, "tlsCertFile": "/nowhere.crt", "tlsPrivateKeyFile": "/nowhere.key"}
    status, said = switched.run(switched.new(broken), "--keep-pods", "--yes")
    assert status == 1, said
    assert "All is as it was before" in said
    assert switched.stands("static")
    assert exclusive(node) == held
    assert set(running(node, 3)) == set(after)
    api.delete(f"{SETS}/replicasets/web?propagationPolicy=Background")
    api.delete(f"{SETS}/daemonsets/agent?propagationPolicy=Background")


def test_killed_at_each_step_it_goes_on_or_goes_back(switched: SwitchedNode) -> None:
    now, other = "none", "static"
    configs = {"none": NONE, "static": STATIC}
    for step in STEPS:
        switched.killed_at(step, configs[now], configs[other])
        if step == STEPS[0]:
            status, said = switched.run(switched.new(configs[other]), "--yes")
            assert status == 2, said
            assert "is not finished, it got to cordon" in said
        status, said = switched.run("--undo")
        assert status == 0, f"{step}: {said}"
        assert switched.stands(now), f"{step}: {said}"

        switched.killed_at(step, configs[now], configs[other])
        status, said = switched.run("--continue")
        assert status == 0, f"{step}: {said}"
        assert switched.stands(other), f"{step}: {said}"
        now, other = other, now
