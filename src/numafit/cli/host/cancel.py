"""`numafit cancel`: end the jobs of leases, gently first."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from numafit.cli.host.release import found_lease, no_lease, say_it_was
from numafit.cli.options.asked import seconds_of
from numafit.cli.options.lease import state_option
from numafit.cli.warning import warn
from numafit.errors import InputError
from numafit.host.book.book import Book
from numafit.host.book.queue import expel
from numafit.host.grant import QueuePlace
from numafit.host.lease import PENDING, Lease
from numafit.host.run.ending import GRACE
from numafit.host.run.ending import cancel as end_job
from numafit.host.session import Session, has_ledger, open_session


@click.command(
    epilog="""\b
Examples:
  numafit cancel 1f0c9a3e
  numafit cancel --grace 5m 1f0c9a3e 77b1d20c
  numafit cancel w7
  numafit cancel --mine"""
)
@click.argument("ids", nargs=-1, metavar="LEASE|WAITING...")
@click.option("--mine", is_flag=True, help="Every lease of yours; who waits goes on waiting.")
@click.option("--grace", metavar="TIME", help="From SIGTERM to SIGKILL.  [default: 30s]")
@state_option
def cancel(ids: Sequence[str], mine: bool, grace: str | None, folder: Path | None) -> int:
    """End the jobs of leases, and so the leases: SIGTERM to all processes of a job, SIGKILL after the grace.

    A container is stopped by its engine. A lease for a time is released. One who waits is named as `numafit ps` names
    him, like w7, or by the --name of his job: his process ends, and with it his place. The jobs of other users are
    ended by root only. Exit status: 0 when all of them are gone, 1 when one is not, 2 bad input.
    """
    if bool(ids) == mine:
        raise InputError("which leases?", cure="name them, or give --mine; `numafit ps` lists them")
    seconds = seconds_of(grace, "--grace")
    session = open_session(folder, warn, devices=False)
    ended: list[bool] = []
    if has_ledger(session.folder):
        with session.book() as book:
            held = [lease.id for lease in book.leases() if lease.uid == os.getuid()]
            places = [] if mine else book.waiting()
            waiting = {name: found for name in ids if (found := _waiting(places, name))}
            wanted = [_allowed(book, name) for name in (held if mine else dict.fromkeys(ids)) if name not in waiting]
            ended = [_expelled(book, place) for found in waiting.values() for place in found]
            ended += [_ended(session, book, lease, GRACE if seconds is None else seconds) for lease in wanted if lease]
    elif ids:
        raise no_lease(ids[0])
    if mine and not ended:
        click.echo("You hold no lease.")
    return 0 if all(ended) else 1


def _waiting(places: Sequence[QueuePlace], name: str) -> list[QueuePlace]:
    """Those that wait by this id or this name."""
    found = [place for place in places if name in (place.id, place.request.name)]
    for place in found:
        if os.geteuid() not in (0, place.owner.uid):
            raise InputError(f"{place.id} is a place of {place.owner.user} in the queue", cure="root can cancel it")
    return found


def _expelled(book: Book, place: QueuePlace) -> bool:
    why = expel(book, place)
    if why:
        warn(f"{place.id} goes on waiting: {why}")
        return False
    click.echo(f"cancelled {place.id}")
    return True


def _allowed(book: Book, lease_id: str) -> Lease | None:
    """None: it is free already. All are looked at before the first is ended."""
    lease = found_lease(book.leases(), lease_id)
    if lease is None:
        say_it_was(book, lease_id)
    elif os.geteuid() not in (0, lease.uid):
        raise InputError(f"the lease {lease.id} belongs to {lease.user}", cure="root can cancel it")
    elif lease.container == PENDING:
        raise InputError(f"the container of lease {lease.id} is about to start", cure="try again in a moment")
    return lease


def _ended(session: Session, book: Book, lease: Lease, grace: float) -> bool:
    if lease.until is not None:
        book.release(lease.id, session.host, event="cancelled")
    else:
        book.change(lease.id, lambda old: old, "cancelled")
        why = end_job(lease, grace)
        # Who watched over it may be about to free it; if he is gone, this does.
        book.leases(session.host)
        if why:
            warn(f"the job of lease {lease.id} is not ended: {why}")
            return False
    click.echo(f"cancelled {lease.id}")
    return True
