"""Ports of loopback."""

import socket

from numafit.cluster.up.ports import free_ports, is_free, same_ports_if_free


def test_ports_are_different() -> None:
    assert len(set(free_ports(5))) == 5


def test_the_ports_of_last_time_are_taken_again_unless_one_is_in_use() -> None:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        own.listen()
        taken, free = own.getsockname()[1], free_ports(1)[0]
        assert (is_free(taken), is_free(free)) == (False, True)
        assert same_ports_if_free([free], 1) == [free]
        assert taken not in same_ports_if_free([free, taken], 2)
        assert len(same_ports_if_free([], 3)) == 3
