"""Tests that boot virtual machines run only on request, and only where that is possible."""

import os

import pytest

from tests.vm.parts import missing


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real: needs a real kernel, runs with NUMAFIT_REAL=1 (`./dev test --real`)")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("real") is None:
        return
    if not os.environ.get("NUMAFIT_REAL"):
        pytest.skip("run with ./dev test --real")
    if lacking := missing():
        pytest.skip(lacking)
