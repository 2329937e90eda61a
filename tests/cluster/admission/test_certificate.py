"""Certificates: what a client makes of them, and when another one is due."""

import ssl
import time

import pytest
from msgspec.structs import replace

from numafit.cluster.admission.certificate import (
    LIFE,
    OVERLAP,
    SKEW,
    ServerCertificate,
    due,
    made_certificate,
    read_certificate,
)
from tests.cluster.admission.played import shaken

NOW = 1_800_000_000.0
NAMES = ("numafit-place.numafit.svc",)
DAY = 86400.0


def made(now: float = NOW, names: tuple[str, ...] = NAMES) -> ServerCertificate:
    return made_certificate(names, now)


def test_what_was_made_is_read_again_the_same() -> None:
    own = made(names=("a.b.svc", "127.0.0.1", "::1"))
    assert read_certificate(own.authority, own.certificate, own.key) == own
    assert (own.begin, own.end) == (NOW - SKEW, NOW + LIFE)
    assert own.is_good(NOW)
    assert own.is_good(NOW - SKEW)
    assert not own.is_good(NOW - SKEW - 1)
    assert not own.is_good(NOW + LIFE)


def test_each_has_an_authority_of_its_own_whose_key_is_nowhere() -> None:
    first, second = made(), made()
    assert first.authority != second.authority
    assert read_certificate(second.authority, first.certificate, first.key) is None
    assert read_certificate(first.authority, first.certificate, second.key) is None
    assert first.key.count(b"PRIVATE KEY") == 2


@pytest.mark.parametrize(
    "damage", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_what_is_damaged_is_none(damage: bytes) -> None:
    own = made()
    assert read_certificate(damage, own.certificate, own.key) is None
    assert read_certificate(own.authority, damage, own.key) is None
    assert read_certificate(own.authority, own.certificate, damage) is None


def test_a_client_takes_it_for_its_names_only() -> None:
    own = made(now=time.time(), names=("a.b.svc", "127.0.0.1"))
    assert shaken(own, "a.b.svc")
    assert shaken(own, "127.0.0.1")
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(own, "other.b.svc")


def test_nothing_is_due_before_two_thirds_of_its_life() -> None:
    own = made()
    assert due((own,), NAMES, NOW) == (own,)
    assert due((own,), NAMES, own.renewal - 1) == (own,)


def test_a_new_one_comes_beside_the_old_one_which_goes_a_day_later() -> None:
    old = made()
    later = old.renewal
    new, kept = due((old,), NAMES, later)
    assert (new.begin, kept) == (later - SKEW, old)
    assert due((new, old), NAMES, later + OVERLAP - 1) == (new, old)
    assert due((new, old), NAMES, later + OVERLAP + 1) == (new,)


def test_one_that_has_ended_is_replaced_and_one_that_has_not_begun_as_well() -> None:
    """The clock of whoever made that was wrong."""
    old = made()
    (new,) = due((old,), NAMES, old.end + DAY)
    assert new.is_good(old.end + DAY)
    (other,) = due((made(NOW + 30 * DAY),), NAMES, NOW)
    assert other.is_good(NOW)
    assert len(due((), NAMES, NOW)) == 1


def test_replicas_with_different_names_agree_on_one_certificate() -> None:
    first = due((), ("a.svc",), NOW)
    second = due(first, ("b.svc",), NOW + 10)
    assert second[0].names == ("b.svc", "a.svc")
    assert due(second, ("a.svc",), NOW + 20) == second
    assert due(second, ("b.svc",), NOW + 20) == second
    many = tuple(f"n{number}.svc" for number in range(50))
    grown = replace(second[0], names=many)
    assert len(due((grown,), ("c.svc",), NOW)[0].names) == 20
