"""Commands that stop and start a kubelet, and its process among others."""

import asyncio
from pathlib import Path

import pytest

from numafit.cluster.switch import kubelet
from numafit.cluster.switch.kubelet import KubeletProcess
from numafit.errors import InputError


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text("")
    return path


def process(proc: Path, number: int, *words: str) -> None:
    (proc / str(number)).mkdir(parents=True)
    (proc / str(number) / "cmdline").write_bytes("\0".join((*words, "")).encode())


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("/usr/bin/kubelet", "--config={}", "-v=2"), True),
        (("/usr/bin/kubelet", "--config", "{}"), True),
        (("/usr/bin/kubelet", "--config=/etc/other.yaml"), False),
        (("nsenter", "--", "kubelet", "--config={}"), False),
        (("vi", "{}"), False),
        ((), False),
    ],
)
def test_the_process_is_the_one_that_was_given_the_file(
    config: Path, tmp_path: Path, words: tuple[str, ...], found: bool
) -> None:
    process(tmp_path / "proc", 7, *(word.format(config) for word in words))
    (tmp_path / "proc" / "self").mkdir()
    assert KubeletProcess(config, "", "", tmp_path / "proc").number() == (7 if found else None)


def test_its_command_tells_its_other_folders(config: Path, tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    own = KubeletProcess(config, "", "", proc)
    process(proc, 7, "kubelet", f"--config={config}", "--root-dir", "/srv/kubelet", "--config-dir=/etc/k.d")
    assert [own.option(name) for name in ("--root-dir", "--config-dir", "--kubeconfig")] == [
        "/srv/kubelet",
        "/etc/k.d",
        "",
    ]
    (proc / "7" / "cmdline").unlink()
    assert own.option("--root-dir") == ""


def test_a_link_to_the_file_is_the_file(config: Path, tmp_path: Path) -> None:
    process(tmp_path / "proc", 7, "kubelet", f"--config={config}")
    link = tmp_path / "link.yaml"
    link.symlink_to(config)
    assert KubeletProcess(link, "", "", tmp_path / "proc").number() == 7


def test_a_command_that_fails_is_told_with_what_it_said(config: Path) -> None:
    own = KubeletProcess(config, "", "echo Unit kubelet.service not found. >&2; exit 5")
    with pytest.raises(InputError, match=r"ended with status 5: Unit kubelet.service not found"):
        asyncio.run(own.start())


def test_a_command_that_leaves_somebody_behind_has_ended(config: Path) -> None:
    """A kubelet that it starts keeps its output open."""
    asyncio.run(asyncio.wait_for(KubeletProcess(config, "", "sleep 60 &").start(), 30))


def test_a_kubelet_that_runs_on_is_noticed(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubelet, "STOP_SECONDS", 0.2)
    process(tmp_path / "proc", 7, "kubelet", f"--config={config}")
    own = KubeletProcess(config, "true", "", tmp_path / "proc")
    with pytest.raises(InputError, match="the kubelet runs on as process 7"):
        asyncio.run(own.stop(watched=True))
    assert asyncio.run(own.stop(watched=False)) == "true"


def test_a_command_that_hangs_is_given_up(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubelet, "COMMAND_SECONDS", 0.1)
    with pytest.raises(InputError, match="does not end within"):
        asyncio.run(KubeletProcess(config, "", "exec sleep 60").start())
