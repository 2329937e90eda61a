"""Which GPUs can be handed out whole, and which of them broke, as NVIDIA's management library (NVML) tells.

A GPU is lost when the driver does not answer for it any more, and broken after a critical error (XID) that is the
GPU's own; it stays broken until somebody has looked at it and starts the watch anew.
"""

from typing import Any

import msgspec

from numafit.errors import InputError
from numafit.host.gpu.nvml import MIG_ENABLED, Handle, Nvml, load_nvml

XIDS_OF_PROGRAMS = frozenset({13, 31, 43, 45, 68, 109})
"""Errors that a program on the GPU makes by itself; the GPU goes on."""
MOST_EVENTS = 1000
"""In one look; more come with the next."""


class WholeGpu(msgspec.Struct, frozen=True):
    id: str
    """Its UUID."""
    index: int
    minor: int | None
    """The number of its file in /dev; None when the driver does not tell."""
    mig: bool
    """It is cut into slices, or will be."""


class GpuWatch:
    """Keeps the library open between two looks, since errors are told only while somebody listens."""

    def __init__(self, library: Nvml | None = None) -> None:
        self._library = library
        self._open: Nvml | None = None
        self._events: Handle = None
        self._broken: dict[str, int] = {}

    def look(self) -> tuple[tuple[WholeGpu, ...], dict[str, int]]:
        """The GPUs that answer, and UUID -> XID of those that broke. Raises InputError: library or driver are away."""
        nvml = self._opened()
        try:
            gpus = tuple(_gpus(nvml))
            self._listen(nvml)
        except nvml.NVMLError as error:
            self._open = None
            raise InputError(f"NVML stopped answering: {error}", source="NVML") from None
        return gpus, dict(self._broken)

    def _opened(self) -> Nvml:
        if self._open is not None:
            return self._open
        nvml = load_nvml() if self._library is None else self._library
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            cure = "there is no NVIDIA driver here, or it is not loaded"
            raise InputError(f"NVML does not start: {error}", source="NVML", cure=cure) from None
        self._open, self._events = nvml, _listener(nvml)
        return nvml

    def _listen(self, nvml: Nvml) -> None:
        for _ in range(MOST_EVENTS if self._events is not None else 0):
            try:
                event: Any = nvml.nvmlEventSetWait_v2(self._events, 0)
            except nvml.NVMLError:
                # Nothing more has happened.
                return
            xid = int(event.eventData)
            if event.eventType == nvml.nvmlEventTypeXidCriticalError and xid not in XIDS_OF_PROGRAMS:
                try:
                    self._broken.setdefault(_text(nvml.nvmlDeviceGetUUID(event.device)), xid)
                except nvml.NVMLError:
                    # It does not even say its name: it is not among those that answer.
                    continue


def _listener(nvml: Nvml) -> Handle:
    """None where no GPU tells of errors."""
    try:
        events = nvml.nvmlEventSetCreate()
    except nvml.NVMLError:
        return None
    listened = False
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            nvml.nvmlDeviceRegisterEvents(handle, nvml.nvmlEventTypeXidCriticalError, events)
            listened = True
        except nvml.NVMLError:
            continue
    return events if listened else None


def _gpus(nvml: Nvml) -> list[WholeGpu]:
    found = []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            uuid = _text(nvml.nvmlDeviceGetUUID(handle))
        except nvml.NVMLError:
            continue
        found.append(WholeGpu(uuid, index, _minor(nvml, handle), _mig(nvml, handle)))
    return found


def _minor(nvml: Nvml, handle: Handle) -> int | None:
    try:
        return int(nvml.nvmlDeviceGetMinorNumber(handle))
    except nvml.NVMLError:
        return None


def _mig(nvml: Nvml, handle: Handle) -> bool:
    """Now or after the next reset."""
    try:
        return MIG_ENABLED in nvml.nvmlDeviceGetMigMode(handle)
    except nvml.NVMLError:
        return False


def _text(answer: str | bytes) -> str:
    return answer if isinstance(answer, str) else answer.decode("utf-8", "replace")
