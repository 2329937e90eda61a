"""What all tests share: how hard hypothesis tries.

An ordinary run takes the same examples every time, so that a red test is the fault of the change at hand. With
NUMAFIT_ALL=1 (`./dev test --all`) it tries more of them, and new ones.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("ordinary", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("all", deadline=None, max_examples=500, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("all" if os.environ.get("NUMAFIT_ALL") else "ordinary")
