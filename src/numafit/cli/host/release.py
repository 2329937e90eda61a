"""`numafit release`: give a lease back by hand."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from numafit.cli.options.lease import state_option
from numafit.cli.warning import warn
from numafit.errors import InputError
from numafit.host.book.book import Book
from numafit.host.lease import Lease
from numafit.host.session import has_ledger, open_session


@click.command(
    epilog="""\b
Examples:
  numafit release 1f0c9a3e
  numafit release --force 1f0c9a3e"""
)
@click.argument("ids", nargs=-1, required=True, metavar="LEASE...")
@click.option("--force", is_flag=True, help="Also if its job runs: that goes on in the shared pool.")
@state_option
def release(ids: Sequence[str], force: bool, folder: Path | None) -> int:
    """Free leases. Those of jobs that ended need no help: any command frees them.

    With --force a job that runs loses what it holds: its processes go to the shared pool, and its devices may be given
    to others, though it can still reach them. A job that cannot be seen from here, because it ran in another pid
    namespace, loses its lease altogether. The lease of another user can be released by root only.
    """
    session = open_session(folder, warn, devices=False)
    if not has_ledger(session.folder):
        raise no_lease(ids[0])
    with session.book() as book:
        for lease_id in ids:
            lease = found_lease(book.leases(), lease_id)
            if lease is None:
                say_it_was(book, lease_id)
                continue
            if os.geteuid() not in (0, lease.uid):
                raise InputError(f"the lease {lease.id} belongs to {lease.user}", cure="root can release it")
            if lease.until is None and not force:
                raise InputError(
                    f"the job of lease {lease.id} runs: {lease.command[:60] or lease.container[:12]}",
                    cure="end it, or let it go on in the shared pool with --force",
                )
            book.give_up(lease, session.host)
            click.echo(f"released {lease.id}")
    return 0


def found_lease(leases: Sequence[Lease], lease_id: str) -> Lease | None:
    return next((lease for lease in leases if lease.id == lease_id), None)


def say_it_was(book: Book, lease_id: str) -> None:
    """One that was freed a moment ago, because its job had ended, is as good as released."""
    # What happened to those who wait has no lease.
    if not lease_id or not any(entry.lease == lease_id for entry in book.history(1000)):
        raise no_lease(lease_id)
    click.echo(f"{lease_id} is free already")


def no_lease(lease_id: str) -> InputError:
    return InputError(f"there is no lease {lease_id[:40]}", cure="`numafit ps` lists them")
