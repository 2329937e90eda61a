"""The captured machine that most real kubelets of these tests have, and the configuration that fits it."""

from tests.kube.live import SHARED

ARCHIVE = SHARED / "captures" / "numa2smt" / "sys.tgz"
CONFIG = {
    "cpuManagerPolicy": "static",
    "memoryManagerPolicy": "Static",
    "topologyManagerPolicy": "single-numa-node",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "256Mi"}}],
}
