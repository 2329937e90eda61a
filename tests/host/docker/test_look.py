"""A quick look at an engine that is there, sick, or not there at all."""

from pathlib import Path

from numafit.host.docker.look import DEFAULT_SOCKET, engine_socket, leased_containers
from tests.host.fake_docker import described, fake_engine


def test_running_containers_with_a_lease_are_listed(tmp_path: Path) -> None:
    with fake_engine(tmp_path / "socket") as engine:
        engine.containers = [
            described("c1", labels={"numafit.lease": "1234abcd"}),
            described("c2", "exited", labels={"numafit.lease": "5678abcd"}),
            described("c3", labels={"other": "x"}),
            described("c4", "paused", labels={"numafit.lease": "9999abcd"}),
        ]
        assert leased_containers(str(tmp_path / "socket")) == [("1234abcd", "c1"), ("9999abcd", "c4")]
        engine.broken = True
        assert leased_containers(str(tmp_path / "socket")) == []


def test_an_engine_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert leased_containers(str(tmp_path / "none")) == []


def test_the_engine_is_looked_for_where_docker_looks(tmp_path: Path) -> None:
    """A chosen context, or one that is no socket of this host, takes more than a look."""
    home = {"HOME": str(tmp_path)}
    assert engine_socket({"DOCKER_HOST": "unix:///x/y"}) == "/x/y"
    assert engine_socket({"DOCKER_HOST": "tcp://127.0.0.1:1"}) is None
    assert engine_socket({**home, "DOCKER_CONTEXT": "other"}) is None
    assert engine_socket(home) == (DEFAULT_SOCKET if Path(DEFAULT_SOCKET).exists() else "")
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker/config.json").write_text('{"currentContext": "other"}')
    assert engine_socket(home) is None
