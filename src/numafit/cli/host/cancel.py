"""`numafit cancel`: end the jobs of leases, gently first."""

import os
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from numafit.cli.host.release import no_lease, say_it_was
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
@click.argument("ids", nargs=-1, metavar="LEASE|WAITING|NAME...")
@click.option("--mine", is_flag=True, help="Every lease of yours; who waits goes on waiting.")
@click.option("--grace", metavar="TIME", help="From SIGTERM to SIGKILL.  [default: 30s]")
@state_option
def cancel(ids: Sequence[str], mine: bool, grace: str | None, folder: Path | None) -> int:
    """End the jobs of leases, and so the leases: SIGTERM to all processes of a job, SIGKILL after the grace.

    A container is stopped by its engine. A lease for a time is released. One who waits is named as `numafit ps` names
    him, like w7: his process ends, and with it his place. A --name means all jobs of yours that are called so, for root
    those of all users; an id comes before a name. The jobs of other users are ended by root only. Exit status: 0 when
    all of them are gone, 1 when one is not, 2 bad input.
    """
    if bool(ids) == mine:
        raise InputError("which leases?", cure="name them, or give --mine; `numafit ps` lists them")
    seconds = seconds_of(grace, "--grace")
    session = open_session(folder, warn, devices=False)
    ended: list[bool] = []
    if has_ledger(session.folder):
        with session.book() as book:
            leases = book.leases()
            if mine:
                found = _Found([lease for lease in leases if lease.uid == os.getuid()], [])
            else:
                found = _found(book, leases, book.waiting(), ids)
            # All are looked at before the first is ended.
            _check(found)
            ended = [_expelled(book, place) for place in found.places]
            ended += [_ended(session, book, lease, GRACE if seconds is None else seconds) for lease in found.leases]
    elif ids:
        raise no_lease(ids[0])
    if mine and not ended:
        click.echo("You hold no lease.")
    return 0 if all(ended) else 1


class _Found(msgspec.Struct, frozen=True):
    leases: list[Lease]
    places: list[QueuePlace]


def _found(book: Book, leases: Sequence[Lease], places: Sequence[QueuePlace], ids: Sequence[str]) -> _Found:
    """An id means what has that id, whatever others are called: everybody names his jobs as he likes. So a name counts
    among the user's own, and among all for root."""
    found = _Found([], [])
    user = os.geteuid()
    for name in dict.fromkeys(ids):
        held = [lease for lease in leases if lease.id == name]
        waits = [] if held else [place for place in places if place.id == name]
        if name and not held and not waits:
            held = [lease for lease in leases if lease.name == name and user in (0, lease.uid)]
            waits = [place for place in places if place.request.name == name and user in (0, place.owner.uid)]
        if not held and not waits:
            say_it_was(book, name)
        found.leases.extend(lease for lease in held if lease not in found.leases)
        found.places.extend(place for place in waits if place not in found.places)
    return found


def _expelled(book: Book, place: QueuePlace) -> bool:
    why = expel(book, place)
    if why:
        warn(f"{place.id} goes on waiting: {why}")
        return False
    click.echo(f"cancelled {place.id}")
    return True


def _check(found: _Found) -> None:
    user = os.geteuid()
    for place in found.places:
        if user not in (0, place.owner.uid):
            raise InputError(f"{place.id} is a place of {place.owner.user} in the queue", cure="root can cancel it")
    for lease in found.leases:
        if user not in (0, lease.uid):
            raise InputError(f"the lease {lease.id} belongs to {lease.user}", cure="root can cancel it")
        if lease.container == PENDING:
            raise InputError(f"the container of lease {lease.id} is about to start", cure="try again in a moment")


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
