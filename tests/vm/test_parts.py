"""What a machine lacks is said in one sentence that names the cure."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vm import BootError, Job, Node, Shape, parts, run_jobs
from tests.vm.image import image_path


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with everything, an ordinary user, and no image yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(parts, "program", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(parts, "kernel", lambda: Path("/boot/vmlinuz"))
    monkeypatch.setattr(parts, "GUEST_PYTHON", sys.version_info[:2])
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


def test_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once, ready to be pasted."""
    monkeypatch.setattr(parts, "program", lambda name: "")
    monkeypatch.setattr(parts, "kernel", lambda: None)
    assert parts.missing() == (
        "the virtual machines need more packages: apt-get install "
        "e2fsprogs linux-image-6.1.0-50-cloud-amd64 mmdebstrap qemu-system-x86 util-linux"
    )


def test_what_builds_the_image_is_not_needed_once_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is root."""
    monkeypatch.setattr(parts, "program", lambda name: "" if name in parts.BUILDERS else name)
    image_path().parent.mkdir(parents=True)
    image_path().touch()
    assert parts.missing() == ""


def test_only_root_builds_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files belong to root."""
    assert parts.missing() == (
        f"only root can build the virtual machines' image {image_path()}: run `python -m tests.vm` as root"
    )
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert parts.missing() == ""


def test_another_python_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled packages of this one would not load in the guest."""
    monkeypatch.setattr(parts, "GUEST_PYTHON", (2, 7))
    assert parts.missing().startswith("the guests have Python 2.7, and this is 3.")


def test_an_ordinary_user_installs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is said instead."""
    monkeypatch.setattr(parts, "program", lambda name: "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("something was run"))
    assert parts.install() == parts.missing() != ""


def test_a_machine_that_lacks_something_boots_nothing(tmp_path: Path) -> None:
    """The error says what."""
    with pytest.raises(BootError, match="only root can build"):
        run_jobs(Shape((Node(1, 512),)), [Job("a", "true")], tmp_path)


def test_the_newest_kernel_is_taken() -> None:
    """6.1.0-10 is newer than 6.1.0-9."""
    names = [f"/boot/vmlinuz-{version}-cloud-amd64" for version in ("6.1.0-9", "6.1.0-10", "5.10.0-30")]
    assert max(map(Path, names), key=parts._version) == Path(names[1])


def test_kernels_that_fall_over_are_not_booted() -> None:
    assert parts._is_broken(Path("/boot/vmlinuz-6.1.0-55-cloud-amd64"))
    assert not parts._is_broken(Path("/boot/vmlinuz-6.1.0-50-cloud-amd64"))
