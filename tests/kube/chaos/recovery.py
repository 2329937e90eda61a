"""What must be true once all programs run again and nobody asks for anything new."""

from collections.abc import Iterator

from tests.kube.api import Json
from tests.kube.chaos.holdings import Holdings, in_folder, needs_cpus, of_socket
from tests.kube.chaos.load import DEPLOYMENTS, FAILURES
from tests.kube.chaos.scene import FPGAS, PLUGGED, REAL, Scene
from tests.kube.pod_resources import asked
from tests.kube.test_device_plugin import FPGA
from tests.kube.test_node_agent import equals_files

ENDED = ("Failed", "Succeeded")


def problems(scene: Scene) -> list[str]:
    """What is not so yet, as sentences."""
    down = [f"{own.name} does not run" for own in scene.components if not own.runs]
    if down:
        return down
    try:
        return [*_nodes(scene), *_pods(scene), *_agent(scene)]
    except (*FAILURES, OSError) as error:
        return [f"somebody does not answer: {error}"]


def _nodes(scene: Scene) -> Iterator[str]:
    listed = (scene.cluster.api.get("/api/v1/nodes") or {"items": []})["items"]
    found = {own["metadata"]["name"]: own["status"] for own in listed}
    for name in (*scene.simulated, REAL):
        conditions = found.get(name, {}).get("conditions", ())
        if not any(own["type"] == "Ready" and own["status"] == "True" for own in conditions):
            yield f"node {name} is not ready"
    for name in (REAL, PLUGGED):
        if found.get(name, {}).get("allocatable", {}).get(FPGA) != str(FPGAS):
            yield f"node {name} does not offer its devices"


def _pods(scene: Scene) -> Iterator[str]:
    api = scene.cluster.api
    pods = api.pods()
    for name, pod in pods.items():
        if "deletionTimestamp" in pod["metadata"]:
            yield f"pod {name} does not go"
        elif pod["spec"].get("nodeName") and pod["status"].get("phase") == "Pending":
            yield f"pod {name} is bound to {pod['spec']['nodeName']} and still waits"
    for own in (api.get(DEPLOYMENTS) or {"items": []})["items"]:
        there = [pod for pod in pods.values() if pod["metadata"]["labels"]["app"] == own["metadata"]["name"]]
        alive = sum(pod["status"].get("phase") not in ENDED for pod in there)
        if alive != own["spec"]["replicas"]:
            yield f"deployment {own['metadata']['name']} has {alive} pods of {own['spec']['replicas']}"
    for node, folder in {**scene.simulated, REAL: scene.node.lib}.items():
        here = {pod["metadata"]["uid"]: pod for pod in pods.values() if pod["spec"].get("nodeName") == node}
        held = in_folder(folder)
        if held is None:
            yield f"a state file of {node} cannot be read"
        else:
            yield from _held(node, here, held)
            if node in scene.sockets:
                yield from _listed(scene, node, here, held)


def _held(node: str, here: dict[str, Json], held: Holdings) -> Iterator[str]:
    alive = {uid: pod for uid, pod in here.items() if pod["status"].get("phase") not in ENDED}
    wanted = {uid for uid, pod in alive.items() if needs_cpus(pod)}
    for uid in wanted - held.cpus.keys():
        yield f"{node}: {here[uid]['metadata']['name']} has no CPUs of its own"
    for uid in held.cpus.keys() - wanted:
        yield f"{node}: CPUs are held for {uid}, which nobody needs"
    for uid, pod in alive.items():
        limits = pod["spec"]["containers"][0]["resources"].get("limits", {})
        devices = sum(int(amount) for name, amount in limits.items() if "/" in name)
        if len(held.devices.get(uid, ())) != devices:
            yield f"{node}: {pod['metadata']['name']} has {len(held.devices.get(uid, ()))} devices of {devices}"


def _listed(scene: Scene, node: str, here: dict[str, Json], held: Holdings) -> Iterator[str]:
    """The socket tells the same, of those that are alive."""
    answer = asked("list", scene.sockets[node] / "pod-resources" / "kubelet.sock")
    if "error" in answer:
        yield f"the socket of {node} says {answer['error']}"
        return
    told = of_socket(answer)
    yield from (f"{node}, by its socket: {each}" for each in told.twice())
    for uid, pod in here.items():
        name = pod["metadata"]["name"]
        if pod["status"].get("phase") not in ENDED and needs_cpus(pod) and told.cpus.get(name) != held.cpus.get(uid):
            yield f"{node}: {name} has other CPUs by the socket than by the state file"


def _agent(scene: Scene) -> Iterator[str]:
    if not equals_files(scene.node):
        yield "what is published of the real node is not what its state files say"
    if scene.agent.asked("/healthz") != "ok\n":
        yield "the agent is not well"
    lines = scene.agent.asked("/metrics").splitlines()
    for line in lines:
        if line.startswith("numafit_node_notes{") and float(line.split()[-1]):
            yield f"the agent has a note: {line}"
