"""Who else works on the exclusive CPUs of a promise.

On an ordinary host nearly every process may run everywhere, and most of them sleep. Only who was busy between two
looks is worth a word; threads of the kernel have work on every CPU and never count.
"""

from collections.abc import Iterable, Mapping

import msgspec

from numafit.bits import cpuset_text
from numafit.host.audit.activity import Activity, seconds_text
from numafit.host.audit.codes import INTRUDER, POSSIBLE_INTRUDER, AuditFinding, finding, move_cure
from numafit.host.audit.promise import Promise
from numafit.host.process.observation import Observation

BUSY = 0.10
"""So much of a CPU between two looks disturbs a neighbour; less is what every host does beside its work."""
NAMED = 5
"""So many intruders are called by name."""


class Intruder(msgspec.Struct, frozen=True):
    process: Observation
    share: float
    """Of one CPU, over all its threads that may run on the promised CPUs; 1.0 is one CPU all the time."""
    ran_on: int
    """Those of the promised CPUs where it was seen."""


class WaysOut(msgspec.Struct, frozen=True):
    """Where processes can be sent, so that they disturb nobody."""

    free: int
    """The CPUs that are nobody's alone, as a mask."""
    homes: Mapping[int, int] = {}
    """Process -> the CPUs of its own promise."""
    services: Mapping[int, str] = {}
    """Process -> the service of systemd that can be kept to other CPUs as a whole, and with it no promise."""


def audit_intruders(
    promise: Promise, others: Iterable[Observation], activity: Activity, ways: WaysOut
) -> list[AuditFinding]:
    """`others` are processes that are not of the promise."""
    if not promise.exclusive or not promise.cpus:
        return []
    intruders = [one for process in others if (one := _intruder(promise, process, activity)) is not None]
    cpus, seconds = cpuset_text(promise.cpus), seconds_text(activity.seconds)
    found = []
    ran = [one for one in intruders if one.ran_on]
    may = [one for one in intruders if not one.ran_on]
    for code, group, verb in ((INTRUDER, ran, "ran"), (POSSIBLE_INTRUDER, may, "may run")):
        if group:
            named = ", ".join(_named(one) for one in group[:NAMED])
            more = f" and {len(group) - NAMED} more" if len(group) > NAMED else ""
            what = "1 busy process" if len(group) == 1 else f"{len(group)} busy processes"
            sentence = f"{what} without this lease {verb} on its exclusive CPU {cpus}: {named}{more}, in {seconds}"
            pids = tuple(one.process.pid for one in group)
            found.append(finding(code, promise.name, None, sentence, _keep_away(ways, pids), pids))
    return found


def _intruder(promise: Promise, process: Observation, activity: Activity) -> Intruder | None:
    if process.kernel:
        return None
    uses = [use for use in activity.threads([process.pid]) if use.thread.cpus & promise.cpus]
    share = sum(use.ran for use in uses) / activity.seconds
    if share < BUSY:
        return None
    ran_on = 0
    for use in uses:
        # A thread that sleeps may have been sent away since; and one that did nothing did not disturb.
        if use.ran:
            ran_on |= use.seen_on & use.thread.cpus & promise.cpus
    return Intruder(process, share, ran_on)


def _named(one: Intruder) -> str:
    where = f", seen on CPU {cpuset_text(one.ran_on)}" if one.ran_on else ""
    return f"{one.process.name} ({one.process.pid}) used {one.share:.0%} of a CPU{where}"


def _keep_away(ways: WaysOut, pids: tuple[int, ...]) -> str:
    cures = list(dict.fromkeys(_cure(ways, pid) for pid in pids))
    named = "; ".join(cures[:NAMED])
    return f"{named}; the same for the others" if len(cures) > NAMED else named


def _cure(ways: WaysOut, pid: int) -> str:
    cpus = ways.homes.get(pid) or ways.free
    if not cpus:
        return "leases hold all CPUs: nothing is left for other processes"
    if pid in ways.services:
        return f"systemctl set-property --runtime {ways.services[pid]} AllowedCPUs={cpuset_text(cpus)}"
    return move_cure(pid, cpuset_text(cpus))
