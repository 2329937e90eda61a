"""Which entries of a manager belong to no active container any more."""

from collections.abc import Mapping

from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod


def stale_containers(
    ledger: Ledger, entries: Mapping[str, Mapping[str, object]], pending: Pod | None
) -> list[tuple[str, str]]:
    """(pod UID, container) pairs, sorted. Nothing is stale before all pod sources are ready."""
    if not ledger.ready:
        return []
    active = ledger.active
    stale = []
    for uid, containers in entries.items():
        pod = active.get(uid)
        if pod is None and pending is not None and pending.uid == uid:
            pod = pending
        if pod is None:
            stale += [(uid, name) for name in containers]
            continue
        apps = [container.name for container in pod.containers]
        for name in containers:
            if name not in apps and all(name != init.name for init in pod.init_containers):
                stale.append((uid, name))
    return sorted(stale)
