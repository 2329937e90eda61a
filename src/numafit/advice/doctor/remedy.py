"""Why a kubelet does not start, the safe way out, and what it costs."""

from numafit.advice.cures import cure_of, row_of
from numafit.advice.doctor.diagnosis import Remedy
from numafit.errors import InputError, KubeletError
from numafit.ledger.state_files import CPU_FILE, MEMORY_FILE
from numafit.managers.cpu.start import START as CPU_START
from numafit.managers.memory.start import START as MEMORY_START

DRAIN_COST = (
    "The drain ends every pod on the node that no DaemonSet owns. Without it containers that run keep their {what}, "
    "while the kubelet, which no longer knows of them, gives the same {what} to others. If the kubelet is down "
    "already, no drain ends: cordon the node, delete the file and reboot."
)
EDIT_COST = "None for pods that run: their containers go on. No pod starts or is checked until the kubelet is back."

_OWNED = {CPU_START: (CPU_FILE, "CPUs"), MEMORY_START: (MEMORY_FILE, "memory")}
"""Stage that reads a state file -> the file, and what it gives away."""


def remedy_of(problem: KubeletError | InputError, stage: str, root: str) -> Remedy:
    """`stage` is the start call that fails, `root` the kubelet's folder."""
    if isinstance(problem, InputError):
        return Remedy("", (problem.cure or "correct the file", "systemctl restart kubelet"), EDIT_COST)
    row = row_of(problem)
    if stage in _OWNED:
        file, what = _OWNED[stage]
        return Remedy(row.why, fresh_start(root, (file,)), DRAIN_COST.format(what=what))
    change = cure_of(problem) or "correct the configuration"
    if not row.also_delete:
        return Remedy(row.why, (change, "systemctl restart kubelet"), EDIT_COST)
    names = " or ".join(row.also_delete)
    later = f"if {names} is there and the kubelet then refuses it, run numafit doctor again"
    return Remedy(row.why, (change, "systemctl restart kubelet", later), EDIT_COST)


def fresh_start(root: str, files: tuple[str, ...]) -> tuple[str, ...]:
    """The way that gives no CPU and no byte away twice."""
    folder = root.rstrip("/")
    return (
        "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data",
        "systemctl stop kubelet",
        f"rm {' '.join(f'{folder}/{file}' for file in files)}",
        "systemctl start kubelet",
        "kubectl uncordon NODE",
    )
