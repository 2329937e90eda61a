"""Where it happens: a control plane, simulated nodes, a real kubelet, our agent beside it and our device plugins."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import msgspec

from tests.kube.agent import Agent, agent_account
from tests.kube.api import Json
from tests.kube.chaos.components import Component
from tests.kube.control_plane import ControlPlane
from tests.kube.kubelet import KubeletNode
from tests.kube.processes import start, until
from tests.kube.simulation import GPU, SimProcess, allowed_simulator
from tests.kube.test_device_plugin import ARCHIVE, CONFIG, FPGA, OwnPlugin

MACHINE = "sketch:2 sockets x 4 cores x 2 threads, 16Gi per numa"
REAL, PLUGGED = "real", "plugged"
FPGAS = 4
POOL = "pool"
"""A label of simulated nodes: the name of their group."""


def groups() -> list[Json]:
    """20 nodes: where pods spread, where they must fit into one NUMA node, with devices of the file, with sockets."""
    return [
        _group("wide", 8, "best-effort"),
        _group("narrow", 6, "single-numa-node"),
        _group("gpu", 3, "restricted", devices=[f"{GPU}=g0@0,g1@0,g2@1,g3@1"]),
        _group("socket", 2, "single-numa-node", sockets=True),
        _group(PLUGGED, None, "single-numa-node", sockets=True),
    ]


def _group(name: str, count: int | None, policy: str, **more: object) -> Json:
    config = {"cpuManagerPolicy": "static", "topologyManagerPolicy": policy, "reservedSystemCPUs": "0"}
    own = {"name": name, "machine": MACHINE, "kubelet": config, "labels": {POOL: name}, **more}
    return own if count is None else {**own, "count": count}


class Scene(msgspec.Struct, frozen=True):
    cluster: ControlPlane
    sim: SimProcess
    node: KubeletNode
    agent: Agent
    components: tuple[Component, ...]
    logs: tuple[Path, ...]
    """Of our own programs."""

    @property
    def simulated(self) -> dict[str, Path]:
        """Node -> its folder."""
        names = [
            f"{own['name']}-{number}" if "count" in own else own["name"]
            for own in groups()
            for number in range(own.get("count", 1))
        ]
        return {name: self.sim.state / name for name in names}

    @property
    def sockets(self) -> dict[str, Path]:
        """Nodes that have them -> their folder."""
        own = {name: folder for name, folder in self.simulated.items() if name.startswith(("socket", PLUGGED))}
        return {**own, REAL: self.node.lib}


@contextmanager
def played(cluster: ControlPlane, folder: Path) -> Iterator[Scene]:
    """All of it runs, and nothing has happened yet. What it leaves in the cluster goes with the cluster."""
    folder.mkdir()
    with ExitStack() as stack:
        node = KubeletNode(cluster, folder / "real", REAL, ARCHIVE, CONFIG)
        stack.callback(node.close)
        assert node.start()
        agent = Agent(node, agent_account(cluster, folder / "agent.conf"))
        plugin = OwnPlugin(node)
        plugin.list()
        sim = SimProcess(stack.enter_context(allowed_simulator(cluster)), folder / "sim", groups())
        sim.start()
        listed = folder / "plugged.log"
        beside = _beside(plugin.file, sim.state / PLUGGED)

        def begin_kubelet() -> subprocess.Popen[bytes]:
            node.begin()
            assert node.process is not None
            return node.process

        def begin_agent() -> subprocess.Popen[bytes]:
            agent.start()
            assert agent.process is not None
            return agent.process

        def begin_plugin() -> subprocess.Popen[bytes]:
            plugin.start()
            assert plugin.process is not None
            return plugin.process

        assert node.process is not None
        assert sim.process is not None
        again = [str(word) for word in sim.process.args] if isinstance(sim.process.args, list) else []
        components = [
            Component("kubelet", begin_kubelet, node.process),
            Component("kubelet-sim", lambda: start(again, sim.log), sim.process),
            Component("node-agent", begin_agent, begin_agent()),
            Component("device-plugin of the kubelet", begin_plugin, begin_plugin()),
            Component("device-plugin of the simulation", lambda: start(beside, listed), start(beside, listed)),
        ]
        for own in components:
            stack.callback(own.kill)
        for name, process in list(cluster.processes.items()):
            components.append(Component(name, partial(cluster.start_again, name), process))
        for name in (REAL, PLUGGED):
            until(f"devices of {name} are listed", 60, partial(_offers, cluster, name))
        yield Scene(cluster, sim, node, agent, tuple(components), (sim.log, agent.log, plugin.log, listed))


def _beside(devices: Path, folder: Path) -> list[str]:
    command = [sys.executable, "-m", "numafit", "device-plugin", str(devices), "--interval", "0.5"]
    return [*command, f"--kubelet-dir={folder}"]


def _offers(cluster: ControlPlane, node: str) -> bool:
    own = cluster.api.get(f"/api/v1/nodes/{node}") or {}
    return bool(own.get("status", {}).get("allocatable", {}).get(FPGA) == str(FPGAS))
