"""A lease for a command, now or later; who waits is told where he stands and for what."""

from numafit.cli.options.asked import LeaseOptions
from numafit.cli.warning import warn
from numafit.host.book.book import Book
from numafit.host.grant import Owner, Refused, sentence_of
from numafit.host.lease import Lease
from numafit.host.run.asked import StartAsked
from numafit.host.run.resumed import Resumed, lease_given, resumed
from numafit.host.session import Session
from numafit.host.wake.words import GO, OVER


def back_from_waiting(options: LeaseOptions) -> Resumed | None:
    """What this process brings with it that has waited for its lease; to be asked once."""
    return resumed() if options.wait is not None else None


def take(
    session: Session,
    book: Book,
    options: LeaseOptions,
    owner: Owner,
    *,
    quiet: bool,
    back: Resumed | None = None,
    asked: StartAsked | None = None,
) -> Lease | Refused:
    """`back` is what it brings with it; `asked`, how a command is to be started."""
    if options.wait is None:
        return book.take(session.host, options.request, owner)
    if back is not None and back.word == GO:
        return lease_given(book, back, owner)
    if back is not None and back.word == OVER and not book.is_waiting(back.ticket):
        # Anybody who may write the ledger can say so; whose time is over has no place any more.
        return Refused(why=back.rest)
    # Most jobs do not wait, and start quicker without; so do those that have waited.
    from numafit.host.run import sleep

    def tell(refused: Refused) -> None:
        if not quiet:
            places = [place.owner.processes for place in book.waiting()]
            # It may have its lease already.
            if owner.processes in places:
                where = f"place {places.index(owner.processes) + 1} of {len(places)} in the queue"
                why = sentence_of(refused)
                warn(f"waits for {options.request.words()}, {where}" + (f": {why}" if why else ""))

    place = back.ticket if back is not None else None
    return sleep.take(session, book, options.request, owner, options.wait, place=place, tell=tell, asked=asked)
