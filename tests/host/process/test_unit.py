"""The unit of systemd that a process belongs to, from lines of /proc/PID/cgroup of real machines."""

from pathlib import Path

import pytest

from numafit.host.process.unit import SystemdUnit, systemd_unit

USER = "/user.slice/user-1000.slice"


@pytest.mark.parametrize(
    ("text", "unit", "service"),
    [
        ("0::/system.slice/ssh.service\n", SystemdUnit("ssh.service"), True),
        ("0::/init.scope\n", SystemdUnit("init.scope"), False),
        (f"0::{USER}/session-3.scope\n", SystemdUnit("session-3.scope"), False),
        (f"0::{USER}/user@1000.service/init.scope\n", SystemdUnit("init.scope", of_user=True), False),
        (f"0::{USER}/user@1000.service/app.slice/a.service\n", SystemdUnit("a.service", of_user=True), False),
        ("0::/system.slice/a.service/sub\n", SystemdUnit("a.service"), True),
        ("1:name=systemd:/system.slice/a.service\n", None, False),
        ("0::/numafit/abc\n", None, False),
        ("0::/\n", None, False),
    ],
)
def test_the_innermost_unit_is_named(tmp_path: Path, text: str, unit: SystemdUnit | None, service: bool) -> None:
    """Only what the manager of the system runs as a service can be kept to CPUs as a whole."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text(text)
    assert systemd_unit(7, tmp_path) == unit
    assert (unit is not None and unit.is_service) == service


def test_a_process_that_is_gone_is_in_none(tmp_path: Path) -> None:
    assert systemd_unit(7, tmp_path) is None
