"""What a process is bound to, on its way through a pipe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.host.bind.target import RUNGS, BindError, Bound, check_lease_id, decode_bound, encode_bound

MASKS = st.sets(st.integers(0, 600), max_size=8).map(lambda ids: sum(1 << i for i in ids))


@given(
    st.builds(
        Bound,
        rung=st.sampled_from(RUNGS),
        cpus=MASKS,
        mems=MASKS,
        cgroup=st.text(max_size=5),
        memory_policy=st.text(max_size=5),
        skipped=st.lists(st.text(max_size=5), max_size=2).map(tuple),
    )
)
def test_what_was_bound_comes_back_the_same(bound: Bound) -> None:
    """Also masks that are wider than a number of JSON."""
    assert decode_bound(encode_bound(bound)) == bound


@pytest.mark.parametrize("lease_id", ["", "..", ".x", "a/b", "a b", "-x", "x\n", "x" * 101])
def test_a_lease_id_that_is_no_file_name_is_refused(lease_id: str) -> None:
    """It becomes the name of a cgroup and of a systemd unit."""
    with pytest.raises(BindError):
        check_lease_id(lease_id)


def test_rung_names_are_what_users_grep_for() -> None:
    assert RUNGS == (
        "cgroup v2",
        "cgroup v1",
        "systemd scope",
        "affinity and memory policy",
        "affinity",
        "none",
    )
