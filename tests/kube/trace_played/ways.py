"""Which scheduler places: that of the model, the stock one, one that packs, or `numafit place` before the stock one."""

import json
from pathlib import Path

import msgspec

from numafit.cluster.up.programs import SCHEDULER
from numafit.fleet.simulation.rules import PlacingRule
from numafit.fleet.simulation.trace import GPU
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane

WEIGHED = [{"name": name, "weight": 1} for name in ("cpu", "memory", GPU)]
FIT = "NodeResourcesFit"


class PlayedWay(msgspec.Struct, frozen=True):
    name: str
    rule: PlacingRule
    """Of the model."""
    strategy: str = ""
    """Of the only plugin that scores; empty: the scheduler as it comes."""
    placer: bool = False


WAYS = {
    own.name: own
    for own in (
        PlayedWay("fit", PlacingRule("least-allocated", exact=False), "LeastAllocated"),
        PlayedWay("packed", PlacingRule("most-allocated", exact=False), "MostAllocated"),
        PlayedWay("stock", PlacingRule("stock", exact=False)),
        PlayedWay("place", PlacingRule("numafit"), placer=True),
    )
}


def use_strategy(cluster: ControlPlane, folder: Path, strategy: str) -> None:
    """In the place of the scheduler that runs: one that scores by NodeResourcesFit alone, GPUs included."""
    file = folder / "scheduler.json"
    file.write_text(json.dumps(configuration(cluster.authority.folder / f"{SCHEDULER}.kubeconfig", strategy)))
    process = cluster.processes.pop(SCHEDULER)
    process.kill()
    process.wait()
    cluster.run(SCHEDULER, [f"--config={file}", "--secure-port=0"])


def configuration(kubeconfig: Path, strategy: str) -> Json:
    scoring = {"type": strategy, "resources": WEIGHED}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "leaderElection": {"leaderElect": False},
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": FIT, "weight": 1}]}},
                "pluginConfig": [{"name": FIT, "args": {"scoringStrategy": scoring}}],
            }
        ],
    }
