"""A compose file with numafit's second one, started by a real docker-compose: the kernel shows what was planned."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.coming_from import pair_for
from tests.packages import PATH, install_packages, program
from tests.real.docker.conftest import Numafit
from tests.real.docker.engine import IMAGE, Engine

pytestmark = pytest.mark.real

FILE = f"""
services:
  alone: {{image: {IMAGE}, command: sleep 3571, network_mode: none, cpus: 1}}
  rest: {{image: {IMAGE}, command: sleep 3571, network_mode: none}}
"""


@pytest.fixture(scope="module")
def compose() -> str:
    if not program("docker-compose"):
        install_packages(["docker-compose"])
    if not program("docker-compose"):
        pytest.skip("docker-compose is not installed: apt-get install docker-compose")
    return program("docker-compose")


def test_services_run_where_the_plan_says_and_hold_it(
    engine: Engine, numafit: Numafit, compose: str, tmp_path: Path
) -> None:
    """Also the memory nodes, which a compose file cannot name; afterwards nothing is held."""
    (tmp_path / "compose.yaml").write_text(FILE)
    files = [str(tmp_path / name) for name in ("compose.yaml", "pinned.yaml")]
    _, *line = shlex.split(pair_for("docker compose").ours)
    planned = numafit(*(str(tmp_path / word) if word.endswith(".yaml") else word for word in line))
    assert planned.returncode == 0, planned.stderr
    assert numafit.leases() == []
    words = [compose, "-p", f"numafit{os.getpid()}", *(word for file in files for word in ("-f", file))]
    environment = {**os.environ, "DOCKER_HOST": engine.address, "PATH": PATH}

    def run(*more: str) -> None:
        done = subprocess.run([*words, *more], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    run("up", "-d")
    try:
        # A plain job looks first: of two CPUs one is held by a service now.
        everything = str(len(os.sched_getaffinity(0)))
        refused = numafit("run", "--cpus", everything, "--", "echo", "ran")
        assert (refused.returncode, refused.stdout) == (75, "")
        leases = {str(lease["name"]): lease for lease in numafit.leases()}
        assert set(leases) == {"alone", "rest"}
        seen = {name: allowed(engine, str(lease["container"])) for name, lease in leases.items()}
        assert seen == {
            "alone": (leases["alone"]["exclusive"], leases["alone"]["mems"]),
            "rest": (leases["rest"]["bound"], leases["rest"]["mems"]),
        }
        assert seen["alone"][0] not in seen["rest"][0].replace("-", ",").split(",")
    finally:
        run("down", "-t", "0")
    assert numafit.leases() == []


def allowed(engine: Engine, container: str) -> tuple[str, str]:
    pid = engine.docker("inspect", "--format", "{{.State.Pid}}", container).stdout.strip()
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    texts = dict(line.split(":\t", 1) for line in lines if "_allowed_list" in line)
    return texts["Cpus_allowed_list"], texts["Mems_allowed_list"]
