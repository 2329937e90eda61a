"""Leases of containers: they live as long as the container runs or will run again, as the Docker engine itself tells.

A container says by its labels which lease it has. It is written down with the lease before anything can start it: the
`docker` command owns the lease until the engine knows the container, and from then on the engine's own list decides.
An engine that does not answer frees nothing.
"""

import time
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from numafit.host.docker.engine import PODMAN, DockerContainer, engine_address, inspected, labelled, pin
from numafit.host.lease import LEASE_LABEL, PENDING, RECORD_LABEL, Lease, LiveContainers, decode_lease

RUNG, PODMAN_RUNG = "docker", "podman"
RUNNING = frozenset(("running", "paused", "restarting"))
START_SECONDS = 60.0
"""A container that was made so recently may still be on its way, though the command that starts it is gone."""


def rung_of(address: str) -> str:
    return PODMAN_RUNG if address.startswith(PODMAN) else RUNG


def lives(container: DockerContainer, now: float) -> bool:
    """Whether it runs or will run again by itself.

    `always` brings also a container back that somebody stopped, when the engine starts the next time. Those of other
    policies that an engine takes up again when it starts are running before it answers.
    """
    if container.state == "created":
        # A clock that was set back makes it younger than nothing: it is kept.
        return not container.failed and now - container.created < START_SECONDS
    return container.state in RUNNING or (container.state == "exited" and container.restart == "always")


def live_containers(leases: Sequence[Lease]) -> LiveContainers:
    """Of an engine that does not answer, every container may be alive."""
    alive: dict[str, bool] = {}
    by_engine: dict[str, list[Lease]] = {}
    for lease in leases:
        if lease.container == PENDING and not lease.engine:
            # Which engine it is for is written down before a container is asked for.
            alive[lease.id] = False
        elif lease.container:
            by_engine.setdefault(lease.engine or engine_address(), []).append(lease)
    now = time.time()
    for address, own in by_engine.items():
        known = inspected(address, [lease.container for lease in own if lease.container != PENDING])
        told = labelled(address) if any(lease.container == PENDING for lease in own) else []
        if known is None or told is None:
            alive |= {lease.id: True for lease in own}
            continue
        ids = {container.id for container in known if lives(container, now)}
        labels = {container.labels.get(LEASE_LABEL) for container in told if lives(container, now)}
        alive |= {lease.id: lease.container in ids or lease.id in labels for lease in own}
    return alive


def container_leases() -> list[Lease]:
    """The leases of the containers that live, for a ledger that is made anew. Adopted ones have no label."""
    address, now = engine_address(), time.time()
    found = (told_by(one, address) for one in labelled(address) or () if lives(one, now))
    return [lease for lease in found if lease is not None]


def told_by(container: DockerContainer, address: str) -> Lease | None:
    """None: it has no label that makes sense, or is not pinned: an image hands its labels on to every container."""
    try:
        lease = decode_lease(container.labels.get(RECORD_LABEL, "").encode())
    except (ValueError, msgspec.DecodeError):
        return None
    if lease.id != container.labels.get(LEASE_LABEL) or not container.cpus:
        return None
    # It may have been pinned elsewhere since: to as many CPUs, or to those of the shared pool.
    exclusive = container.cpus if lease.exclusive.bit_count() == container.cpus.bit_count() else 0
    return replace(
        lease,
        exclusive=exclusive,
        bound=container.cpus,
        mems=container.mems or lease.mems if lease.forced_mems else lease.mems,
        container=container.id,
        engine=address,
        rung=rung_of(address),
        owners=(),
    )


def repinned(lease: Lease, cpus: int, mems: int = 0) -> Lease | None:
    """The lease after its container was moved to other CPUs; None when that did not work."""
    if lease.container in ("", PENDING) or pin(lease.engine, lease.container, cpus, mems):
        return None
    found = inspected(lease.engine, [lease.container])
    if not found or found[0].cpus != cpus:
        return None
    return replace(lease, bound=cpus)
