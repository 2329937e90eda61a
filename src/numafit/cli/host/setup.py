"""`numafit host setup` and `sweep`: one ledger for all users of a host, made by root, and looked after by a timer."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from numafit.bits import CpusetError, cpuset_text, parse_cpuset
from numafit.cli.options.lease import state_option
from numafit.cli.warning import warn
from numafit.errors import InputError
from numafit.host.book.folder import GROUP, SYSTEM, ledger_folder
from numafit.host.book.rebuild import running_leases
from numafit.host.session import has_ledger, open_book, open_session
from numafit.host.setup.steps import Setup, SetupStep, SetupWish
from numafit.host.setup.sweep import sweep as sweep_once
from numafit.host.setup.system import System
from numafit.machine.read.sysfs.text import cpu_list

ONLINE = Path("/sys/devices/system/cpu/online")


@click.command(
    epilog="""\b
Examples:
  numafit host setup --dry-run
  numafit host setup --user ann --user bob
  numafit host setup --housekeeping 0-1
  numafit host setup --undo"""
)
@click.option("--user", "users", multiple=True, metavar="NAME", help="Put a user into the group; may be repeated.")
@click.option("--housekeeping", metavar="CPUS", help="Keep services on these CPUs (system.slice), and jobs off them.")
@click.option("--sessions", is_flag=True, help="Also who logs in (user.slice): then only root gets CPUs for jobs.")
@click.option("--undo", is_flag=True, help="Take all of it away again, the ledger and its history too.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; change nothing.")
def setup(users: Sequence[str], housekeeping: str | None, sessions: bool, undo: bool, dry_run: bool) -> int:
    """Make one ledger for all users of this host: by root, once. A second time changes only what is not as it should.

    It makes a group, the folder of the ledger that only root and the group may enter, a host.yaml to begin with and,
    where systemd runs, rules for tmpfiles and a timer that looks after leases each minute. Each step is told.

    With --sessions ordinary users can run nothing on other CPUs than those of --housekeeping, and get no CPUs of their
    own: only jobs that root starts leave their slice.

    Exit status: 0, or 2 for bad input or a step that failed; those before it stay.
    """
    if os.geteuid():
        raise InputError("only root can make a ledger for all users", cure="sudo numafit host setup")
    if undo and (users or housekeeping or sessions):
        raise InputError("takes everything away, and nothing else", source="--undo", cure="leave the rest away")
    work = Setup(System(), SYSTEM)
    wish = SetupWish(tuple(dict.fromkeys(users)), _cpus(housekeeping), sessions)
    _walk(work.undo_steps() if undo else work.steps(wish), dry_run=dry_run)
    if not undo and not dry_run:
        _say_the_rest(users, sessions)
    return 0


def _cpus(text: str | None) -> int:
    if text is None:
        return 0
    try:
        cpus = parse_cpuset(text)
    except CpusetError as error:
        raise InputError(str(error), source="--housekeeping", cure="write them like 0-1,64") from None
    online = cpu_list(ONLINE.read_text()) or 0
    if not cpus or cpus & ~online:
        raise InputError(f"CPUs {cpuset_text(online)} are to be had here", source="--housekeeping")
    if cpus == online:
        raise InputError("no CPU would be left for jobs", source="--housekeeping", cure="name fewer")
    return cpus


def _walk(steps: Iterator[SetupStep], *, dry_run: bool) -> None:
    for step in steps:
        if step.done:
            state = "kept" if step.verb == "kept" else "as it should be"
        elif dry_run:
            state = f"would be {step.verb}"
        else:
            step.act()
            state = step.verb
        click.echo(f"{step.what}: {state}")


def _say_the_rest(users: Sequence[str], sessions: bool) -> None:
    """What setup cannot do for people."""
    if users:
        click.echo("Who was added to the group must log in again before it counts.")
    else:
        click.echo(f"Users join by `usermod --append --groups {GROUP} NAME`, or `numafit host setup --user NAME`.")
    if not System().has_systemd:
        click.echo("systemd does not run here: `numafit host sweep` from cron each minute does what its timer would.")
    if sessions:
        click.echo("Jobs of ordinary users are kept on the CPUs of --housekeeping with their sessions.")
    with open_book(SYSTEM, warn) as book:
        known = {lease.id for lease in book.leases()}
    others = [lease.label for lease in running_leases() if lease.id not in known]
    if others:
        warn(f"jobs of other ledgers run: {', '.join(others)}; until they end, this one may give their CPUs away")


@click.command(
    epilog="""\b
Examples:
  numafit host sweep
  sudo numafit host sweep --state-dir /var/lib/numafit"""
)
@state_option
def sweep(folder: Path | None) -> int:
    """Free what jobs held that are gone, move shared work, and end jobs whose time is over and whom nobody watches.

    Any command does the first two on the way; `numafit host setup` makes a timer that does all of it each minute. It
    says what it ended, and is silent else.
    """
    if has_ledger(ledger_folder(folder)):
        sweep_once(open_session(folder, warn, quiet=True))
    return 0
