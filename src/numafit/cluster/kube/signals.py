"""How a process that runs on and on is told to end."""

import asyncio
import signal


def stop_event() -> asyncio.Event:
    """Set by SIGTERM and by Ctrl-C, in the loop that runs now."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
