"""What all tests share: how hard hypothesis tries, and which tests run only on request.

A run takes the same examples every time, so that a red test is the fault of the change at hand. With NUMAFIT_ALL=1
(`./dev test --all`) it tries more of them; with NUMAFIT_NEW=1 as well, new ones: that is for finding faults, not for
judging a change.

Tests with the mark `real` need more than Python (a virtual machine, Docker, root) and run with NUMAFIT_REAL=1
(`./dev test --real`). What else a folder of them needs, its own conftest.py knows.
"""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("ordinary", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "all",
    derandomize="NUMAFIT_NEW" not in os.environ,
    deadline=None,
    max_examples=500,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("all" if os.environ.get("NUMAFIT_ALL") else "ordinary")


def pytest_configure(config: pytest.Config) -> None:
    # What a shell or a pipeline sets for its own programs would change what ours print.
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
        os.environ.pop(name, None)
    # A shell starts what it puts into the background with these ignored, and all programs below inherit that.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    config.addinivalue_line("markers", "real: needs a real system, runs with NUMAFIT_REAL=1 (`./dev test --real`)")


# First of all, so that nothing is built or booted for a test that will not run.
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("real") is not None and not os.environ.get("NUMAFIT_REAL"):
        pytest.skip("run with ./dev test --real")
