"""Somebody's command, for which a cluster is there as long as it runs."""

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress

from numafit.cluster.up.control_plane import ControlPlane
from numafit.cluster.up.processes import ends_with_parent, stop
from numafit.errors import InputError

LOOK_SECONDS = 0.5
INTERRUPTED_SECONDS = 2
"""Ctrl-C reaches the command, too: so long it may take to end by itself."""
SIGNALLED = 128
"""What shells add to the number of a signal."""


def run_command(words: Sequence[str], cluster: ControlPlane, warn: Callable[[str], None]) -> int:
    """Its exit status. It has our terminal and KUBECONFIG, and gets a SIGTERM where we are killed."""
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    try:
        process = subprocess.Popen(words, env=environment, preexec_fn=ends_with_parent(signal.SIGTERM))
    except OSError as error:
        raise InputError(f"cannot be run: {error.strerror}", source=words[0]) from None
    try:
        status = _ended(process, cluster, warn)
    except KeyboardInterrupt:
        with suppress(subprocess.TimeoutExpired):
            process.wait(INTERRUPTED_SECONDS)
        raise
    finally:
        stop(process)
    return status if status >= 0 else SIGNALLED - status


def _ended(process: "subprocess.Popen[bytes]", cluster: ControlPlane, warn: Callable[[str], None]) -> int:
    """A part of the cluster that ends meanwhile may be what the command is about: it is told once, and all goes on."""
    told = False
    while True:
        try:
            return process.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        if not told:
            try:
                cluster.check()
            except InputError as error:
                warn(str(error))
                told = True
