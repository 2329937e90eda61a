"""The lines of docs/coming-from.md for Docker, beside Docker's own, with a real engine: the kernel's files are
compared."""

import shlex

import pytest

from tests.coming_from import pair_for
from tests.real.docker.conftest import Numafit
from tests.real.docker.engine import IMAGE, Engine, first_core

pytestmark = pytest.mark.real

LOOK = "grep Cpus_allowed_list /proc/self/status"


def words_of(line: str) -> list[str]:
    """Without the name of the program."""
    return shlex.split(line.replace("IMAGE", f"--rm {IMAGE} {LOOK}"))[1:]


def test_a_container_gets_a_cpu_that_nobody_has(engine: Engine, numafit: Numafit) -> None:
    """On an idle host what Docker is told, as a whole core; next to another lease Docker takes it all the same."""
    today, ours = (words_of(line) for line in pair_for("docker run"))
    told = engine.docker(*today).stdout
    assert told == "Cpus_allowed_list:\t0\n"
    own = numafit(*ours).stdout
    assert own == f"Cpus_allowed_list:\t{first_core()}\n"
    assert numafit("docker", "run", "--cpus", "1", "--", "-d", IMAGE, "sleep", "3571").returncode == 0
    assert engine.docker(*today).stdout == told
    other = numafit(*ours)
    assert (other.returncode, other.stdout == own) == (0, False)


def test_a_container_that_runs_is_pinned_and_held(engine: Engine, numafit: Numafit) -> None:
    today, ours = (words_of(line) for line in pair_for("docker update"))
    engine.docker("run", "-d", "--name", "web", IMAGE, "sleep", "3571")
    engine.docker(*today)
    told = engine.docker("exec", "web", *LOOK.split()).stdout
    engine.docker("rm", "-f", "web")
    engine.docker("run", "-d", "--name", "web", IMAGE, "sleep", "3571")
    assert numafit(*ours).returncode == 0
    assert told == "Cpus_allowed_list:\t0\n"
    assert engine.docker("exec", "web", *LOOK.split()).stdout == f"Cpus_allowed_list:\t{first_core()}\n"
    assert [lease["exclusive"] for lease in numafit.leases()] == [first_core()]
