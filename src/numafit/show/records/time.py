"""A moment as records write it: RFC 3339 in UTC."""

from datetime import UTC, datetime


def now_text() -> str:
    """RFC 3339 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def time_text(seconds: float) -> str:
    """Seconds since 1970 in the same form, to the second."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
