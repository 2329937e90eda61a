"""As in `tests/cluster/device`: these tests have a process of their own."""

import os

from tests.cluster.test_alone import ALONE

collect_ignore_glob = [] if ALONE in os.environ else ["test_*.py"]
