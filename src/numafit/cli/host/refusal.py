"""What a command says and ends with when it gets no lease."""

import os

from numafit.cli.options.asked import LeaseOptions
from numafit.cli.warning import warn
from numafit.host.environment import LEASE, SHARED
from numafit.host.grant import Refused, sentence_of

REFUSED = 75
"""What sendmail calls a temporary failure: try again later, or ask for less."""


def refuse(options: LeaseOptions, refused: Refused) -> int:
    waited = "" if options.wait is None else " in that time"
    # Inside of a job with CPUs of its own nothing becomes free before it ends: waiting is refused there.
    inside = LEASE in os.environ and SHARED not in os.environ
    cure = " (start it outside of this job)" if inside else " (--wait waits for it)"
    if options.wait is not None or refused.never:
        cure = ""
    warn(f"no lease for {options.request.words()}{waited}: {sentence_of(refused)}{cure}")
    return REFUSED
