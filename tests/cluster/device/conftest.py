"""What speaks grpc is tested in a process of its own (`tests/cluster/test_alone.py`).

The threads of grpc outlive a test, and would be in the way of later ones that fork, or that collect its garbage.
"""

import os

from tests.cluster.test_alone import ALONE

collect_ignore_glob = [] if ALONE in os.environ else ["test_*.py"]
