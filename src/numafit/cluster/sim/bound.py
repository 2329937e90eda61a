"""A pod that is bound to a simulated node, as much of it as its kubelet looks at."""

import msgspec

from numafit.workload.pod import Pod

RUN_SECONDS = "numafit.io/run-seconds"
"""An annotation of a pod: so long its containers run, each time they are started; for ever where it is not there."""
EXIT_CODE = "numafit.io/exit-code"
"""With which they end then; 0 where it is not there."""

ALWAYS, NEVER = "Always", "Never"
PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
ENDED = (SUCCEEDED, FAILED)


class PodManner(msgspec.Struct, frozen=True):
    """How pods of one template live; many pods share one value."""

    restart_policy: str = ALWAYS
    host_network: bool = False
    images: dict[str, str] = {}
    """By container."""
    readiness_gates: tuple[str, ...] = ()
    run_seconds: float | None = None
    exit_code: int = 0


NO_MANNER = PodManner()


class ContainerState(msgspec.Struct, frozen=True, gc=False):
    """`waiting`, `running` or `terminated`; times are seconds since 1970."""

    kind: str
    reason: str = ""
    message: str = ""
    started: float = 0
    finished: float = 0
    code: int = 0
    id: str = ""


class PlayedContainer(msgspec.Struct, gc=False):
    """A container of an admitted pod, as it is now."""

    state: ContainerState
    last: ContainerState | None = None
    restarts: int = 0


class KnownStatus(msgspec.Struct, frozen=True):
    """What stood in the pod's status when a simulation began that had seen it before."""

    phase: str
    reason: str = ""
    message: str = ""
    started: float = 0
    containers: dict[str, PlayedContainer] = {}
    transitions: dict[str, tuple[str, float]] = {}
    address: str = ""


class BoundPod(msgspec.Struct, frozen=True):
    """One that the API server shows: at its coming, and again at each change of what stands here."""

    pod: Pod
    """As its spec asks now; its kubelet may not have allocated that yet."""
    manner: PodManner = NO_MANNER
    created: str = ""
    generation: int = 0
    deleting: bool = False
    known: KnownStatus | None = None
    """None for a pod that no kubelet has seen."""
    allocated: Pod | None = None
    """As its status tells what it was allocated, where that is not what its spec asks."""
    gates: dict[str, str] = {}
    """Conditions that it names as readiness gates -> their status, as far as others have told them."""
