"""A pod on a simulated kubelet: whether it was taken in, how its containers live and end, and what is to be told."""

import msgspec

from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.sim.bound import (
    ALWAYS,
    ENDED,
    FAILED,
    NEVER,
    PENDING,
    RUNNING,
    SUCCEEDED,
    BoundPod,
    ContainerState,
    PlayedContainer,
    PodManner,
)
from numafit.workload.pod import Container, Pod

CREATING, INITIALIZING = "ContainerCreating", "PodInitializing"
COMPLETED, ERROR, CRASH_LOOP = "Completed", "Error", "CrashLoopBackOff"
KILLED = 137
"""Of a container that is told to end: as one that does not listen."""
FIRST_BACKOFF, LONGEST_BACKOFF = 10.0, 300.0
"""Seconds between the end of a container and its next start; none before the first restart."""
QUIET_AFTER = 600.0
"""A container that ran so long begins anew with its back-offs."""


class ResizeTold(msgspec.Struct, frozen=True):
    """What the pod's status says about other resources that were asked for."""

    pending: bool
    """Else it is in progress."""
    reason: str = ""
    message: str = ""
    generation: int = 0
    since: float = 0
    looked: float = 0
    """When it was tried last."""


class PlayedPod(msgspec.Struct):
    """Times are seconds since 1970."""

    pod: Pod
    """With the resources that it was allocated."""
    manner: PodManner
    created: str
    generation: int
    started: float
    """When the kubelet saw it first."""
    phase: str = PENDING
    reason: str = ""
    message: str = ""
    admitted: bool = False
    deleting: bool = False
    over: bool = False
    """No container of it will run any more."""
    told: bool = False
    """The API server knows that it is over."""
    preempted: bool = False
    containers: dict[str, PlayedContainer] = {}
    resize: ResizeTold | None = None
    transitions: dict[str, tuple[str, float]] = {}
    """Condition -> its status, and since when that is so."""
    address: str = ""
    """Of its own; empty until its containers are started."""
    gates: dict[str, str] = {}
    """Conditions by which others say whether it is ready -> their status."""
    devices: dict[str, list[ObjectJson]] = {}
    """Container -> the devices that its status told last."""

    @property
    def uid(self) -> str:
        return self.pod.uid

    @property
    def rejected(self) -> bool:
        """No container of it ever ran here."""
        return self.over and not self.admitted

    def running(self, container: Container) -> bool:
        return self.containers[container.name].state.kind == "running"


def played(bound: BoundPod, now: float) -> PlayedPod:
    known = bound.known
    pod = PlayedPod(
        bound.allocated or bound.pod, bound.manner, bound.created, bound.generation, now, deleting=bound.deleting
    )
    pod.gates = dict(bound.gates)
    if known is None:
        return pod
    pod.started = known.started or now
    pod.phase, pod.reason, pod.message = known.phase or PENDING, known.reason, known.message
    if all(own.name in known.containers for own in pod.pod.all_containers):
        # What somebody else wrote there, of some containers only, no kubelet has written.
        pod.containers = dict(known.containers)
    pod.transitions = dict(known.transitions)
    pod.address = known.address
    pod.over = pod.told = pod.phase in ENDED
    pod.admitted = bool(pod.containers)
    return pod


def admit(pod: PlayedPod) -> None:
    """Its containers wait to be started; those that run already run on."""
    pod.admitted = True
    reason = INITIALIZING if pod.pod.init_containers else CREATING
    waiting = ContainerState("waiting", reason)
    pod.containers = {
        own.name: pod.containers.get(own.name) or PlayedContainer(waiting) for own in pod.pod.all_containers
    }


def reject(pod: PlayedPod, reason: str, message: str, now: float) -> None:
    """What ran of it before a restart of its kubelet ends."""
    stop(pod, now)
    pod.admitted, pod.over, pod.resize = bool(pod.containers), True, None
    pod.phase, pod.reason, pod.message = FAILED, reason, message


def begin(pod: PlayedPod, now: float, left: frozenset[str] = frozenset()) -> float | None:
    """Containers that can be started are: init containers end at once, sidecars run. `left`: those that cannot be.

    Returns when its containers end, where that is known.
    """
    for own in pod.pod.all_containers:
        life = pod.containers[own.name]
        if own.name in left:
            if own in pod.pod.init_containers:
                break
            continue
        if life.state.kind != "waiting":
            continue
        number = life.restarts + (1 if life.last is not None else 0)
        name = container_id(pod.uid, own.name, number)
        if own in pod.pod.init_containers and not own.restartable:
            state = ContainerState("terminated", COMPLETED, started=now, finished=now, id=name)
        else:
            state = ContainerState("running", started=now, id=name)
        pod.containers[own.name] = PlayedContainer(state, life.last, number)
    pod.phase = phase_of(pod)
    seconds = pod.manner.run_seconds
    return None if seconds is None or pod.phase != RUNNING else now + seconds


def finish(pod: PlayedPod, now: float) -> float | None:
    """The time of its containers is over: they end. Returns when they are started again; None where they are not."""
    code = pod.manner.exit_code
    policy = pod.manner.restart_policy
    again = policy == ALWAYS or (policy != NEVER and code != 0)
    pause = 0.0
    for own in pod.pod.containers:
        life = pod.containers[own.name]
        if life.state.kind != "running":
            continue
        ended = _ended(life.state, code, now)
        if again:
            begun = life.restarts
            if now - life.state.started > QUIET_AFTER:
                begun = 0
            wait = 0.0 if begun == 0 else min(FIRST_BACKOFF * 2 ** min(begun - 1, 10), LONGEST_BACKOFF)
            pause = max(pause, wait)
            state = ContainerState("waiting", CRASH_LOOP, _back_off(pod.pod, own, wait), id=ended.id) if wait else ended
            pod.containers[own.name] = PlayedContainer(state, ended if wait else life.last, life.restarts)
        else:
            pod.containers[own.name] = PlayedContainer(ended, life.last, life.restarts)
    if again:
        pod.phase = phase_of(pod)
        return now + pause
    stop(pod, now, 0)
    pod.over, pod.resize = True, None
    pod.phase = phase_of(pod)
    return None


def again(pod: PlayedPod) -> None:
    """Containers that have ended wait to be started again."""
    for own in pod.pod.containers:
        life = pod.containers[own.name]
        if life.state.kind == "terminated":
            pod.containers[own.name] = PlayedContainer(ContainerState("waiting"), life.state, life.restarts)


def stop(pod: PlayedPod, now: float, code: int = KILLED) -> None:
    """Whatever runs of it ends, or never begins."""
    for own in pod.pod.all_containers:
        life = pod.containers.get(own.name)
        if life is None or life.state.kind == "terminated":
            continue
        if life.state.kind == "running":
            pod.containers[own.name] = PlayedContainer(_ended(life.state, code, now), life.last, life.restarts)
        elif life.last is not None:
            pod.containers[own.name] = PlayedContainer(life.last, None, life.restarts)
        else:
            unknown = ContainerState("terminated", "ContainerStatusUnknown", LOST, code=KILLED)
            pod.containers[own.name] = PlayedContainer(unknown, None, life.restarts)


LOST = "The container could not be located when the pod was terminated"


def end(pod: PlayedPod, now: float) -> None:
    """It was deleted, or has to go for another."""
    if pod.over:
        return
    stop(pod, now)
    pod.over, pod.resize = True, None
    pod.phase = phase_of(pod) if pod.containers else FAILED


def phase_of(pod: PlayedPod) -> str:
    """By its containers. Once `over`, it has ended whatever its restart policy says."""
    states = [pod.containers[own.name].state for own in pod.pod.containers]
    init = [pod.containers[own.name].state for own in pod.pod.init_containers if not own.restartable]
    if any(state.kind != "terminated" for state in init):
        return PENDING
    waits = [
        pod.containers[own.name].state.kind == "waiting" and pod.containers[own.name].last is None
        for own in pod.pod.containers
    ]
    if any(waits):
        return PENDING
    if pod.over:
        return SUCCEEDED if all(state.code == 0 for state in states) else FAILED
    return RUNNING


def container_id(uid: str, container: str, number: int) -> str:
    """The same for the same start of the same container, in the form of containerd's."""
    # Not worth a real digest: it only has to differ from others on the node.
    return f"numafit://{uid.replace('-', '')}{number:08x}{container.encode().hex()[:24]:0>24}"


def _ended(state: ContainerState, code: int, now: float) -> ContainerState:
    reason = ERROR if code else COMPLETED
    return ContainerState("terminated", reason, "", state.started, now, code, state.id)


def _back_off(pod: Pod, container: Container, seconds: float) -> str:
    """In the kubelet's words; it writes Go's durations."""
    minutes, rest = divmod(int(seconds), 60)
    text = f"{minutes}m{rest}s" if minutes else f"{rest}s"
    return f"back-off {text} restarting failed container={container.name} pod={pod.name}_{pod.namespace}({pod.uid})"
