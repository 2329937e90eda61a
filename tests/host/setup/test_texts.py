"""The files that `numafit host setup` writes: systemd's own checker reads the units."""

import shutil
import subprocess
from pathlib import Path

import pytest

from numafit.host.host import HostFile
from numafit.host.host_file import parse_host_file
from numafit.host.setup.texts import MARK, drop_in, host_yaml, tmpfiles, units
from numafit.machine.catalogue.names import machine_named


def test_every_file_says_who_made_it() -> None:
    for file in (tmpfiles(Path("/var/lib/numafit")), *units("/usr/bin/numafit"), drop_in("user.slice", "0-1")):
        assert MARK in file.text.splitlines()[0]
    assert MARK in host_yaml("").splitlines()[0]


def test_systemd_finds_no_fault_with_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not there")
    files = units("/bin/true")
    for file in files:
        (tmp_path / file.path.name).write_text(file.text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / file.path.name) for file in files)],
        capture_output=True,
        text=True,
        check=False,
    )
    complaints = [line for line in done.stderr.splitlines() if "numafit" in line]
    assert (complaints, "Unknown" in done.stderr) == ([], False)


def test_the_settings_to_begin_with_can_be_read() -> None:
    machine = machine_named("gpu8-128cpu")
    assert parse_host_file(host_yaml("0-1").encode(), Path("host.yaml"), machine) == HostFile(0b11)
    words = host_yaml("").splitlines()[1:]
    everything = "\n".join(line.removeprefix("# ") for line in words)
    quotas = parse_host_file(everything.encode(), Path("host.yaml"), machine).quotas
    assert (quotas.users["*"].cpus, quotas.groups["students"].cpus) == (16, 32)
