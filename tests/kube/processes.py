"""Programs that end with the test that started them: those of `numafit cluster up`, under the names that tests use."""

from numafit.cluster.up.ports import free_ports
from numafit.cluster.up.processes import start, stop, until

__all__ = ["free_ports", "start", "stop", "until"]
