"""How the programs are built, with something that looks like Go."""

import os
import stat
from pathlib import Path

import pytest

from tests.kube import build as own
from tests.kube.build import JOBSET, PROGRAMS, binaries, build, digest, missing

GO = """#!/bin/sh
if [ "$1" = "list" ]; then echo "$GO_FOLDER"; exit 0; fi
while [ "$1" != "-o" ]; do shift; done
echo "$3" >> "$GO_LOG"
if [ "$3" = "$GO_FAILS" ]; then echo "${GO_SAYS:-no such module}" >&2; exit 1; fi
echo "$3" > "$2"
"""


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which it notes what it was asked to build."""
    path = tmp_path / "go"
    path.write_text(GO)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    log = tmp_path / "asked"
    monkeypatch.setenv("NUMAFIT_KUBE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GO_LOG", str(log))
    monkeypatch.setattr(own, "program", lambda name: str(path))
    return log


def test_all_programs_are_built_once(go: Path) -> None:
    told: list[str] = []
    folder = build(tell=told.append)
    assert folder == binaries()
    assert sorted(path.name for path in folder.iterdir()) == sorted(program.name for program in PROGRAMS)
    assert go.read_text().splitlines() == [program.package for program in PROGRAMS]
    assert len(told) == len(PROGRAMS)
    build(tell=told.append)
    assert len(told) == len(PROGRAMS)


def test_a_build_that_ended_in_the_middle_goes_on(go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GO_FAILS", PROGRAMS[3].package)
    with pytest.raises(RuntimeError, match="kube-apiserver cannot be built: no such module"):
        build()
    assert not binaries().exists()
    monkeypatch.delenv("GO_FAILS")
    go.unlink()
    build()
    assert go.read_text().splitlines() == [program.package for program in PROGRAMS[3:]]


def test_what_a_controller_defines_is_kept_beside_it(go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As its module has it, which is not in the repository."""
    module = tmp_path / "module"
    for name in ("crd/bases/a.yaml", "webhook/manifests.yaml", "manager/manager.yaml"):
        (module / "config/components" / name).parent.mkdir(parents=True)
        (module / "config/components" / name).write_text(name)
    monkeypatch.setenv("GO_FOLDER", str(module))
    folder = build(JOBSET).parent
    kept = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.yaml")}
    assert kept == {name: name for name in ("crd/bases/a.yaml", "webhook/manifests.yaml")}


def test_a_build_without_time_says_so_and_the_next_one_goes_on(go: Path) -> None:
    with pytest.raises(RuntimeError, match="there was no time to build cri; 0 of 7 programs are built and kept"):
        build(seconds=-1)
    assert build() == binaries()


def test_a_module_proxy_that_does_not_answer_is_named(go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GO_FAILS", PROGRAMS[0].package)
    monkeypatch.setenv("GO_SAYS", "dial tcp: lookup proxy: no such host")
    with pytest.raises(
        RuntimeError, match=r"cri cannot be built: no Go module proxy answers \(GOPROXY names one\): dial"
    ):
        build()


def test_another_recipe_is_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest()
    assert before == digest()
    for module in ("cri", "kubernetes"):
        (tmp_path / module).mkdir()
        (tmp_path / module / "go.mod").write_text("module other")
    monkeypatch.setattr(own, "SOURCES", tmp_path)
    assert digest() != before


def test_the_reason_for_a_skip_is_told(go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing() == "the programs of Kubernetes are not built: run `python -m tests.kube`"
    monkeypatch.setattr(own, "program", lambda name: "")
    assert missing() == "the programs of Kubernetes are not built, and there is no Go to build them with"
    with pytest.raises(RuntimeError, match="Go is not installed"):
        build()


def test_the_cache_has_its_usual_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMAFIT_KUBE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert binaries() == Path(f"/somewhere/numafit/kube/{digest()}/bin")
    assert os.fspath(own.cache()) == "/somewhere/numafit/kube"
