"""What speaks grpc is tested in a process of its own: see `tests/cluster/device/conftest.py`."""

import os

from tests.cluster.test_alone import ALONE

collect_ignore_glob = [] if ALONE in os.environ else ["test_*.py"]
