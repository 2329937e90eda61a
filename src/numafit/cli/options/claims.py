"""Devices that resource claims (DRA) give to pods: from files beside those of the pods, or from the node's agent."""

from numafit.cli.files import read_bytes
from numafit.cli.options.node import NodeOptions, source_name
from numafit.decision.stage import Stage

_SIGNS = (b"ResourceClaim", b"ResourceSlice")


def with_claims_of(stage: Stage, options: NodeOptions) -> Stage:
    """Pods with such devices say where they are, as far as that is known."""
    told = {} if options.published is None else {own.uid: own.claims for own in options.published.status.holders}
    files = [(source_name(path), read_bytes(path)) for path in options.pods if str(path) != "-"]
    files = [(name, data) for name, data in files if any(sign in data for sign in _SIGNS)]
    if not files and not any(told.values()):
        return stage
    # Most pods have no claims: a command starts quicker without these.
    from numafit.cluster.claims.held import devices_by_pod
    from numafit.cluster.claims.notes import with_claims
    from numafit.cluster.claims.read import read_claims

    found = read_claims(files)
    listed = devices_by_pod(found.claims, found.slices, stage.node.machine)
    return with_claims(stage, {**{uid: own for uid, own in told.items() if own}, **listed})
