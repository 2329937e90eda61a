"""The API server's time, read off its answers."""

from email.utils import formatdate

import pytest

from numafit.cluster.kube.clock import ServerClock


class Clocks:
    def __init__(self, own: float) -> None:
        self.own, self.steady = own, 100.0
        self.clock = ServerClock(lambda: self.own, lambda: self.steady)

    def told(self, seconds: float) -> None:
        self.clock.look(formatdate(seconds, usegmt=True).encode())

    def pass_by(self, seconds: float) -> None:
        self.own += seconds
        self.steady += seconds


NOON = 1_800_000_000.0


def test_before_anybody_answered_it_is_our_own() -> None:
    assert Clocks(NOON).clock.now() == NOON
    assert Clocks(NOON).clock.wants_to_look()


def test_a_second_or_two_are_no_difference() -> None:
    clocks = Clocks(NOON + 0.7)
    clocks.told(NOON - 2)
    assert clocks.clock.now() == NOON + 0.7


@pytest.mark.parametrize("hours", [-30, -3, 3, 30])
def test_hours_are(hours: int) -> None:
    clocks = Clocks(NOON)
    clocks.told(NOON + hours * 3600)
    clocks.pass_by(4)
    assert clocks.clock.now() == NOON + hours * 3600 + 4


def test_it_goes_on_steadily_while_ours_jumps_or_an_answer_tells_the_second_before() -> None:
    clocks = Clocks(NOON - 3600)
    clocks.told(NOON)
    clocks.pass_by(11)
    assert clocks.clock.wants_to_look()
    clocks.told(NOON + 10)
    assert clocks.clock.now() == NOON + 11
    clocks.own -= 86400
    assert clocks.clock.now() == NOON + 11
    assert not clocks.clock.wants_to_look()


def test_a_clock_that_was_set_right_is_followed() -> None:
    clocks = Clocks(NOON)
    clocks.told(NOON + 3600)
    clocks.told(NOON)
    assert clocks.clock.now() == NOON


@pytest.mark.parametrize("text", [b"", b"soon", b"\xff\xfe", b"Mon, 99 Foo 20266 25:61:61 GMT"])
def test_what_is_no_date_is_passed_over(text: bytes) -> None:
    clocks = Clocks(NOON)
    clocks.clock.look(text)
    assert clocks.clock.now() == NOON
