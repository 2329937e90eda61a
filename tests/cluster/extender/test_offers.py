"""What was offered to whom, and until when."""

from numafit.cluster.extender.offers import MOST_TRIED, OfferBook


def test_an_offer_counts_until_its_time_and_is_forgotten_after_twice_that() -> None:
    withdrawn: list[str] = []
    book = OfferBook(withdrawn.append, seconds=10)
    book.made("a", ["n1"], (), now=0)
    book.made("b", ["n2"], (), now=5)
    assert (book.sweep(10), withdrawn, len(book)) == (True, ["a"], 1)
    assert (book.sweep(11), book.tried("a")) == (False, ("n1",))
    assert (book.sweep(15), withdrawn, len(book)) == (True, ["a", "b"], 0)
    assert (book.sweep(25), book.tried("a"), book.expired) == (False, (), 2)


def test_what_was_tried_is_remembered_within_bounds() -> None:
    book = OfferBook(lambda _: None)
    for index in range(3 * MOST_TRIED):
        book.made("a", [f"n{index}"], book.tried("a"), now=0)
    assert len(book.tried("a")) == MOST_TRIED + 1
    assert book.offered("a") == (f"n{3 * MOST_TRIED - 1}",)
    book.over("a")
    assert (book.offered("a"), book.tried("a"), len(book)) == ((), (), 0)
