"""numafit decides what the kubelet would decide, and says why."""

__version__ = "0.1.0"
