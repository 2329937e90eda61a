"""`numafit node switch --over-agent`: a real kubelet, its agent with the rights of the manifest, and somebody who may
write into the agent's namespace and nothing else."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from numafit.cluster.node.manifest import manifest
from numafit.cluster.orders.words import ORDERS
from tests.kube.agent import NAMESPACE, Agent, account_kubeconfig
from tests.kube.api import MERGE, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.kubelet import FOLDER, KubeletNode, changed
from tests.kube.live import SHARED
from tests.kube.mounts import seen_from
from tests.kube.processes import start, until
from tests.kube.service import KubeletService

pytestmark = pytest.mark.real

ARCHIVE = SHARED / "captures" / "numa2smt" / "sys.tgz"
DOCS = Path(__file__).resolve().parents[2] / "docs" / "node-switch.md"
NODE = "ordered"
ORDER = f"/api/v1/namespaces/{NAMESPACE}/configmaps/numafit-switch-{NODE}"
NONE: Json = {"cpuManagerPolicy": "none"}
STATIC: Json = {"cpuManagerPolicy": "static", "topologyManagerPolicy": "best-effort"}
RBAC = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}"


@pytest.fixture(scope="module")
def applied(cluster: ControlPlane) -> None:
    """What the manifest says, but for the DaemonSet, and the Role of the documentation for somebody who orders."""
    objects = list(yaml.safe_load_all(manifest(NAMESPACE, "none:1", orders=ORDERS)))
    kubectl = [str(cluster.binaries / "kubectl"), f"--kubeconfig={cluster.kubeconfig}"]
    command = [*kubectl, "apply", "--server-side", "--force-conflicts", "-f", "-"]
    for some, more in ((objects[:2], ()), (objects[2:-1], ()), (objects[-1:], ("--dry-run=server",))):
        done = subprocess.run(
            [*command, *more], input=yaml.safe_dump_all(some).encode(), capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
    role = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", DOCS.read_text(), re.DOTALL)[1])
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "orderer"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": role["metadata"]["name"]},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "orderer"}],
    }
    cluster.api.post(f"{RBAC}/roles", role)
    cluster.api.post(f"{RBAC}/rolebindings", binding)


class OrderedNode:
    def __init__(self, cluster: ControlPlane, node: KubeletNode, service: KubeletService) -> None:
        self.node, self.service = node, service
        # A token that is bound to the node, as that of a pod there.
        bound = {"apiVersion": "v1", "kind": "Node", "name": node.name}
        self.config = account_kubeconfig(cluster, node.folder / "agent.conf", boundObjectRef=bound)
        self.orderer = cluster.authority.kubeconfig("orderer", cluster.server, "orderer")
        self.log = node.folder / "switch.log"
        self.journal = seen_from(node.outside.process.pid, f"{FOLDER}/numafit-switch/journal.jsonl")
        self.agent: Agent | None = None

    def start_agent(self, *options: str) -> None:
        commands = [f"--{word}-command={self.service.command(word)}" for word in ("stop", "start")]
        self.agent = Agent(self.node, self.config, *(options or ("--allow-switch", *commands)))
        self.agent.start()

    def kill_agent(self) -> None:
        if self.agent is not None:
            self.agent.kill()

    def new(self, config: Mapping[str, Any]) -> Path:
        path = self.node.folder / "new.json"
        path.write_text(json.dumps(changed(self.node.base, config), indent=1))
        return path

    def begin(self, *words: object) -> subprocess.Popen[bytes]:
        """On no node at all."""
        options = ("--node", self.node.name, "--over-agent", "--kubeconfig", self.orderer)
        command = [sys.executable, "-m", "numafit", "node", "switch", *map(str, (*words, *options))]
        return start(command, self.log)

    def run(self, *words: object) -> tuple[int, str]:
        before = len(self.said())
        status = self.begin(*words).wait(150)
        return status, self.said()[before:]

    def said(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def order(self) -> Json:
        found: Json = (self.node.api.get(ORDER) or {}).get("data") or {}
        return found

    def stands(self, policy: str) -> bool:
        state = self.node.state_files()["cpu_manager_state"] or {}
        configured = json.loads(self.node.config.read_text())["cpuManagerPolicy"]
        opened = not (self.node.node() or {})["spec"].get("unschedulable")
        there = (configured, state.get("policyName"), self.node.ended, opened, self.journal.exists())
        return there == (policy, policy, False, True, False) and self.node.is_ready()

    def killed_at(self, step: str, config: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        """The agent, as soon as its journal tells of the step; the command goes on."""
        command = self.begin(self.new(config), "--yes", "--settle", "0.5")
        sign = f'"step":"{step}","event":"begun"'
        until(f"the step {step}", 90, lambda: self.journal.exists() and sign in self.journal.read_text(), 0.0)
        self.kill_agent()
        assert self.journal.exists()
        return command


@pytest.fixture
def ordered(kubelets: None, applied: None, cluster: ControlPlane, short_folder: Path) -> Iterator[OrderedNode]:
    if not ARCHIVE.exists():
        pytest.skip("the captured machines are not there")
    folder = Path(tempfile.mkdtemp(prefix="ov", dir=short_folder))
    node = KubeletNode(cluster, folder / "n", NODE, ARCHIVE, NONE)
    service = KubeletService(node, node.folder / "service")
    assert node.start()
    own = OrderedNode(cluster, node, service)
    yield own
    own.kill_agent()
    service.close()
    node.close()


def test_a_switch_is_ordered_planned_approved_and_done(ordered: OrderedNode) -> None:
    """One story, since a start takes its time."""
    # an agent that is not allowed to says nothing, and the order is taken back
    ordered.start_agent("--recordings", str(ordered.node.folder / "recordings"))
    status, said = ordered.run(ordered.new(STATIC), "--yes")
    assert status == 2, said
    assert "no agent of node ordered has answered within 20 s" in said
    assert ordered.order() == {}
    ordered.kill_agent()
    ordered.start_agent()

    # nothing is touched by a plan, nor by one that says no
    status, said = ordered.run(ordered.new(STATIC), "--dry-run")
    assert status == 0, said
    assert "cpuManagerPolicy: none -> static" in said
    status, said = ordered.run(ordered.new({"cpuManagerPolicy": "statik"}), "--yes", "-o", "json")
    assert status == 1, said
    assert json.loads(said)["outcome"] == "refused"
    status, said = ordered.run(ordered.new(STATIC))
    assert status == 2, said
    assert "there is nobody to ask" in said
    assert ordered.order() == {}
    assert ordered.stands("none")

    # an approval of another plan is none
    data = {"config": json.dumps(changed(ordered.node.base, STATIC)), "approved": "f" * 64}
    ordered.node.api.post(ORDER.rpartition("/")[0], {"metadata": {"name": ORDER.rpartition("/")[2]}, "data": data})
    until("the plan is there", 60, lambda: ordered.order().get("status") == "planned")
    status, said = ordered.run(ordered.new(STATIC), "--yes")
    assert status == 2, said
    assert "there is an order already, planned" in said
    assert ordered.stands("none")
    status, said = ordered.run("--undo")
    assert status == 0, said
    assert ordered.order() == {}

    status, said = ordered.run(ordered.new(STATIC), "--yes", "--settle", "0.5")
    assert status == 0, said
    assert "uncordon done" in said
    assert "Done. What there was before is in /var/lib/kubelet/numafit-switch/" in said
    assert ordered.stands("static")
    assert ordered.order() == {}
    status, said = ordered.run(ordered.new(STATIC), "--yes")
    assert status == 0, said
    assert "there is nothing to do" in said

    # what only the kubelet refuses is brought back
    broken = {**NONE, "tlsCertFile": "/nowhere.crt", "tlsPrivateKeyFile": "/nowhere.key"}
    status, said = ordered.run(ordered.new(broken), "--yes", "--settle", "0.5", "-o", "json")
    assert status == 1, said
    assert json.loads(said[said.index('{\n  "outcome"') :])["outcome"] == "undone"
    assert ordered.stands("static")

    # the account changes its own node and its own order only
    kubectl = [str(ordered.node.cluster.binaries / "kubectl"), f"--kubeconfig={ordered.config}"]
    api = ordered.node.api
    api.post(ORDER.rpartition("/")[0], {"metadata": {"name": "numafit-switch-other"}})
    for words, why in (
        (["-n", NAMESPACE, "configmap", "numafit-switch-other", "-p", '{"data":{"a":"b"}}'], "its own node only"),
        (["node", NODE, "-p", '{"spec":{"taints":[{"key":"a","effect":"NoExecute"}]}}'], "unschedulable only"),
        (["node", NODE, "-p", '{"metadata":{"labels":{"a":"b"}}}'], "unschedulable only"),
    ):
        done = subprocess.run(
            [*kubectl, "patch", *words, f"--type={MERGE.partition('/')[2].partition('-')[0]}"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert why in done.stderr, done.stderr


def test_an_agent_that_is_killed_in_the_middle_goes_on_or_goes_back(ordered: OrderedNode) -> None:
    ordered.start_agent()
    command = ordered.killed_at("clear", STATIC)
    ordered.start_agent()
    assert command.wait(120) == 0, ordered.said()
    assert ordered.stands("static")

    # the order says undo while nobody is there
    command = ordered.killed_at("start", NONE)
    api = ordered.node.api
    assert api.ask("PATCH", ORDER, {"data": {"undo": "true"}}, MERGE).is_success
    ordered.start_agent()
    assert command.wait(120) == 1, ordered.said()
    assert ordered.stands("static")
    assert ordered.order() == {}

    # and while it is at work: whoever was interrupted may say it
    pause = ordered.begin(ordered.new(NONE), "--yes", "--settle", "60")
    until("the node is waited for", 90, lambda: "ready:" in ordered.said().rpartition("All is as it was")[2])
    pause.send_signal(2)
    pause.wait(30)
    assert "the switch goes on without you" in ordered.said()
    status, said = ordered.run("--undo")
    assert status == 0, said
    assert "All is as it was before." in said
    assert ordered.stands("static")
