"""What a command says and ends with when it gets no lease."""

from numafit.cli.options.lease import LeaseOptions
from numafit.cli.terminal import warn
from numafit.host.grant import Refused, sentence_of

REFUSED = 75
"""What sendmail calls a temporary failure: try again later, or ask for less."""


def refuse(options: LeaseOptions, refused: Refused) -> int:
    waited = "" if options.wait is None else " in that time"
    cure = "" if options.wait is not None or refused.never else " (--wait waits for it)"
    warn(f"no lease for {options.request.words()}{waited}: {sentence_of(refused)}{cure}")
    return REFUSED
