"""Tests that boot virtual machines run only where that is possible."""

import pytest

from tests.vm.parts import missing


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("real") is not None and (lacking := missing()):
        pytest.skip(lacking)
