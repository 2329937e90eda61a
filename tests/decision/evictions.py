"""Evictions counted again by hand: what each pod gives back, who could have gone, and what was missing at each turn."""

from collections.abc import Iterable, Mapping, Sequence

from numafit.decision.decision import Decision, NodeShort, Preempted
from numafit.settings.settings import Settings
from numafit.workload.pod import Pod, Resources

LOWER = {"Guaranteed": ("BestEffort", "Burstable"), "Burstable": ("BestEffort",), "BestEffort": ()}
HIGHER = {"Guaranteed": (), "Burstable": ("Guaranteed",), "BestEffort": ("Guaranteed", "Burstable")}


def given_back(settings: Settings, pod: Pod, name: str) -> int:
    """In thousandths of a CPU, bytes, devices."""
    if name == "pods":
        return 1
    whole = settings.version.minor >= 34
    sidecars = [each for each in pod.init_containers if each.restartable and whole]

    def of(requests: Resources) -> int:
        quantity = requests.get(name)
        return 0 if quantity is None else quantity.milli()

    total = sum(of(each.requests) for each in (*pod.containers, *sidecars))
    started = 0
    for each in pod.init_containers:
        peak = started + of(each.requests)
        total = max(total, peak)
        if each in sidecars:
            started = peak
    own = pod.resources
    pod_level = name in ("cpu", "memory") or name.startswith("hugepages-")
    if whole and own is not None and (own.requests or own.limits) and settings.gate("PodLevelResources"):
        total = of(own.requests) if pod_level else 0
    elif whole and own is not None and pod_level and name in own.requests:
        total = of(own.requests)
    if total:
        total += of(pod.overhead)
    return total if name == "cpu" else -(-total // 1000)


def check_victims(
    settings: Settings, critical: Pod, others: Sequence[Pod], short: Mapping[str, int], evicted: Sequence[Decision]
) -> None:
    """Of a critical pod that is admitted when others go: `others` were active before."""
    victims = {victim.pod.uid: victim for victim in evicted}
    assert len(victims) == len(evicted)
    candidates = [other for other in others if may_go(critical, other)]
    assert victims.keys() <= {other.uid for other in candidates}
    left = _less(settings, short, [victim.pod for victim in evicted])
    assert not left, "what went is not enough"
    classes = [victim.qos for victim in evicted]
    assert classes == sorted(classes, key=list(reversed(LOWER)).index)
    for number, victim in enumerate(evicted):
        cause = victim.cause
        assert isinstance(cause, Preempted)
        assert (victim.admitted, victim.reason) == (False, "Preempting")
        assert victim.message == "Preempted in order to admit critical pod"
        assert (cause.by, cause.qos) == (critical.full_name, victim.qos)
        check_turn(settings, victim, cause, evicted, number, candidates, short)


def check_turn(
    settings: Settings,
    victim: Decision,
    cause: Preempted,
    evicted: Sequence[Decision],
    number: int,
    candidates: Sequence[Pod],
    short: Mapping[str, int],
) -> None:
    """No other of its class that was still there was nearer, and all that is said of the choice is so."""
    qos = {other.uid: _class(settings, other) for other in candidates}
    gone = [other for other in candidates if qos[other.uid] in LOWER[victim.qos]]
    gone += [each.pod for each in evicted if each.qos in HIGHER[victim.qos]]
    before = [each.pod for each in evicted[:number] if each.qos == victim.qos]
    missing = _less(settings, short, [*gone, *before])
    assert missing, "it went for nothing"
    assert cause.missing == missing
    assert cause.frees == {name: given_back(settings, victim.pod, name) for name in missing}
    rivals = [other for other in candidates if qos[other.uid] == victim.qos and other not in before]
    ranks = {other.uid: _rank(settings, missing, other) for other in rivals}
    own = ranks[victim.pod.uid]
    assert own == min(ranks.values())
    assert cause.distance == own[0]
    assert cause.among == len(rivals)
    assert cause.equals == sum(rank == own for rank in ranks.values()) - 1
    assert cause.larger == sum(rank[0] == own[0] and rank[1:] > own[1:] for rank in ranks.values())


def missing_of(short: Iterable[NodeShort]) -> dict[str, int]:
    return {each.resource: each.asked - (each.capacity - each.used) for each in short}


def may_go(critical: Pod, other: Pod) -> bool:
    if not other.static and (other.priority or 0) < 2_000_000_000:
        return True
    return None not in (critical.priority, other.priority) and (critical.priority or 0) > (other.priority or 0)


def still_missing(settings: Settings, critical: Pod, others: Sequence[Pod], short: Mapping[str, int]) -> dict[str, int]:
    """Even with all gone that may go."""
    return _less(settings, short, [other for other in others if may_go(critical, other)])


def _less(settings: Settings, short: Mapping[str, int], gone: Sequence[Pod]) -> dict[str, int]:
    left = {name: amount - sum(given_back(settings, each, name) for each in gone) for name, amount in short.items()}
    return {name: amount for name, amount in left.items() if amount > 0}


def _rank(settings: Settings, missing: Mapping[str, int], pod: Pod) -> tuple[float, int, int]:
    shares = [max(0, amount - given_back(settings, pod, name)) / amount for name, amount in missing.items()]
    distance = 0.0
    for share in shares:
        distance += share**2
    return distance, given_back(settings, pod, "memory"), given_back(settings, pod, "cpu")


def _class(settings: Settings, pod: Pod) -> str:
    """Of pods whose status does not tell."""
    own = pod.resources
    parts = [own] if own is not None and settings.gate("PodLevelResources") else list(pod.all_containers)
    named = [part.requests.get(name) or part.limits.get(name) for part in parts if part for name in ("cpu", "memory")]
    if not any(named):
        return "BestEffort"
    pairs = [(part.requests.get(name), part.limits.get(name)) for part in parts if part for name in ("cpu", "memory")]
    return "Guaranteed" if all(limit is not None and request == limit for request, limit in pairs) else "Burstable"
