"""Whether /proc hides processes of other users from this one: the mount option hidepid."""

from pathlib import Path

from numafit.host.process.identity import PROC, status_fields

_OPEN = frozenset({"", "0", "off"})
_WITHOUT_GROUP = frozenset({"4", "ptraceable"})
"""Kernel 5.8 and later: the group of the mount helps nobody there."""
_SYS_PTRACE = 19
"""The number of the capability that sees all processes."""


def hidden_from_us(root: Path = PROC) -> str:
    """The reason, with the cure; empty when all processes of this /proc are shown."""
    options = _options(root)
    mode = options.get("hidepid", "")
    if mode in _OPEN:
        return ""
    # Without a word of it the group is root's.
    group = options.get("gid", "0")
    try:
        status = status_fields(root / "self")
    except OSError:
        status = {}
    if int(status.get("CapEff", "0"), 16) >> _SYS_PTRACE & 1:
        return ""
    groups = {*status.get("Groups", "").split(), *status.get("Gid", "").split()}
    if mode not in _WITHOUT_GROUP and group in groups:
        return ""
    member = "" if mode in _WITHOUT_GROUP or "gid" not in options else f" or as a member of group {group}"
    return f"{root} is mounted with hidepid={mode}; ask as root{member}"


def _options(root: Path) -> dict[str, str]:
    """Of the /proc that is mounted last at `root`."""
    found: dict[str, str] = {}
    try:
        lines = (root / "self/mountinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return found
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(" "), after.split(" ")
        if len(fields) > 4 and fields[4] == str(root) and kinds[0] == "proc":
            found = {key: value for key, _, value in (word.partition("=") for word in kinds[-1].split(","))}
    return found
