"""How a command is to be started, as the user asked for it."""

from collections.abc import Sequence

import msgspec


class StartAsked(msgspec.Struct, frozen=True):
    command: Sequence[str]
    no_env: bool = False
    strict: bool = False
    quiet: bool = False
