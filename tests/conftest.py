"""What all tests share: how hard hypothesis tries.

A run takes the same examples every time, so that a red test is the fault of the change at hand. With NUMAFIT_ALL=1
(`./dev test --all`) it tries more of them; with NUMAFIT_NEW=1 as well, new ones: that is for finding faults, not for
judging a change.
"""

import os

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
