"""Whether /proc hides processes: made-up trees, since mounting needs root."""

from pathlib import Path

import pytest

from numafit.host.process.hidepid import hidden_from_us

PTRACE = "0000000000080000"


def proc(folder: Path, options: str, *, capabilities: str = "0000000000000000", groups: str = "1000 27") -> Path:
    (folder / "self").mkdir()
    (folder / "self" / "mountinfo").write_text(
        f"20 1 0:4 / / rw - ext4 /dev/a rw\n22 20 0:5 / {folder} rw,nosuid - proc proc {options}\n"
    )
    (folder / "self" / "status").write_text(
        f"Gid:\t1000\t1000\t1000\t1000\nGroups:\t{groups} \nCapEff:\t{capabilities}\n"
    )
    return folder


@pytest.mark.parametrize("options", ["rw", "rw,hidepid=0", "rw,hidepid=off", "rw,gid=9"])
def test_an_open_proc_hides_nothing(tmp_path: Path, options: str) -> None:
    assert hidden_from_us(proc(tmp_path, options)) == ""


@pytest.mark.parametrize("mode", ["1", "2", "4", "noaccess", "invisible", "ptraceable"])
def test_an_ordinary_user_is_told_why_others_are_hidden(tmp_path: Path, mode: str) -> None:
    """Numbers up to kernel 5.7, words later."""
    reason = hidden_from_us(proc(tmp_path, f"rw,hidepid={mode}"))
    assert reason == f"{tmp_path} is mounted with hidepid={mode}; ask as root"


def test_members_of_its_group_and_who_may_trace_see_all(tmp_path: Path) -> None:
    """Without a group that of root; for `ptraceable` no group helps."""
    for number, (options, groups, capabilities, hidden) in enumerate(
        (
            ("rw,gid=27,hidepid=invisible", "27", "0", False),
            ("rw,gid=28,hidepid=invisible", "27", "0", True),
            ("rw,gid=27,hidepid=ptraceable", "27", "0", True),
            ("rw,hidepid=2", "0", "0", False),
            ("rw,hidepid=2", "", PTRACE, False),
        )
    ):
        (tmp_path / str(number)).mkdir()
        root = proc(tmp_path / str(number), options, groups=groups, capabilities=capabilities)
        assert bool(hidden_from_us(root)) == hidden, options


def test_the_group_is_named_where_there_is_one(tmp_path: Path) -> None:
    reason = hidden_from_us(proc(tmp_path, "rw,gid=28,hidepid=invisible"))
    assert reason.endswith("; ask as root or as a member of group 28")


def test_this_proc_can_be_asked() -> None:
    """Whatever the answer is here."""
    assert hidden_from_us() == "" or "hidepid=" in hidden_from_us()
