"""One engine for all tests of a worker; a ledger for each test."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.packages import PATH
from tests.real.docker.engine import Engine
from tests.real.docker.parts import install


@pytest.fixture(scope="session")
def shared_engine() -> Iterator[Engine]:
    lacking = install()
    if lacking:
        pytest.skip(lacking)
    engine = Engine()
    try:
        try:
            engine.start("--live-restore")
            engine.make_image()
            done = engine.docker("run", "--rm", "numafit-test", "true", check=False)
        except (RuntimeError, AssertionError) as error:
            pytest.skip(f"a Docker engine cannot run here: {error}")
        if done.returncode:
            pytest.skip(f"containers cannot run here: {done.stderr.strip()}")
        yield engine
    finally:
        engine.close()


@pytest.fixture
def engine(shared_engine: Engine) -> Iterator[Engine]:
    yield shared_engine
    shared_engine.remove_containers()


class Numafit:
    """The command, as a person calls it, with a ledger of its own."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("NUMAFIT_")},
            "DOCKER_HOST": engine.address,
            "NUMAFIT_STATE": str(folder),
            "PATH": PATH,
        }

    def line(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "numafit", *words]

    def __call__(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.line(*words),
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def start(self, *words: str, stdout: int = subprocess.DEVNULL) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.line(*words),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def leases(self, **environment: str) -> list[dict[str, object]]:
        done = self("ps", "-o", "json", **environment)
        assert done.returncode == 0, done.stderr
        found: list[dict[str, object]] = json.loads(done.stdout)["leases"]
        return found


@pytest.fixture
def numafit(engine: Engine, tmp_path: Path) -> Numafit:
    return Numafit(engine, tmp_path / "ledger")


def until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
