"""How long to wait before another try."""

from numafit.cluster.kube.pace import Backoff


def test_it_grows_to_a_limit_and_begins_anew_after_a_success() -> None:
    backoff = Backoff(1, 8)
    for most in (1, 2, 4, 8, 8):
        assert most / 2 <= backoff.seconds() <= most
    backoff.succeeded()
    assert backoff.seconds() <= 1
