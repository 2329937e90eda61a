"""What is said between those who wait and the one who watches over the queue, and what a process tells its own next
program.
"""

VARIABLE = "NUMAFIT_QUEUE"
"""Ticket, descriptor of what was kept, word and what belongs to it."""

HELLO, GO, START, OVER, LEAD, LOST = "hello", "go", "start", "over", "lead", "lost"
"""The first word of what a waiter hears: you are seen; you have this lease; the same, and start it so; your time is
over, because; watch; ask again."""
WRITTEN = "written"
"""What it hears then: its command is in the ledger and may run. What is said of the user's variables, and of the
lease, follows as two words in hexadecimal."""
RUNNING = "running"
"""What numafit hears from `wake`: the command of this lease runs, as this process."""
REPORT = b"="
"""What a report on the bell begins with; any other sign there means only that something changed."""
NOTHING = "-"
"""Stands for an empty word."""


def packed(pairs: dict[str, str]) -> str:
    """Variables as one word."""
    return b"\0".join(f"{name}={value}".encode("utf-8", "surrogateescape") for name, value in pairs.items()).hex()


def unpacked(word: str) -> dict[bytes, bytes]:
    """The opposite. Raises `ValueError`."""
    found = {}
    for pair in bytes.fromhex(word).split(b"\0"):
        name, _, value = pair.partition(b"=")
        found[name] = value
    return found
