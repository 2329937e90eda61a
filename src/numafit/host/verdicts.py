"""How the leases of a host lie, each in one word."""

from collections.abc import Sequence

from numafit.advice.verdict import HolderVerdict, alignments
from numafit.errors import InputError
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.place import OUTSIDE, ledger_of, node_of
from numafit.host.request import JobRequest


def lease_alignments(host: Host, leases: Sequence[Lease]) -> dict[str, HolderVerdict]:
    """By lease. None on a machine where jobs cannot be placed: what is known of it does not suffice to judge either."""
    if not leases:
        return {}
    try:
        node = node_of(host, JobRequest(memory=1))
    except InputError:
        return {}
    found = alignments(node, ledger_of(host, node, leases))
    return {uid: own for uid, own in found.items() if uid != OUTSIDE}
