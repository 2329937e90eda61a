"""Virtual machines with several NUMA nodes, for tests that need a real kernel. README.md says how to write a job."""

from tests.vm.boot import BootError, run_jobs
from tests.vm.cargo import Job
from tests.vm.parts import install, missing
from tests.vm.results import Result
from tests.vm.shape import Node, Pci, Shape

__all__ = ["BootError", "Job", "Node", "Pci", "Result", "Shape", "install", "missing", "run_jobs"]
