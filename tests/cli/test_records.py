"""Every `-o json` is a record: the type reads the output strictly, and prints it again byte for byte.

So no key is missing in the type, none is left out or in another order, and null stays null.
"""

import os
import shlex
from pathlib import Path

import msgspec
import pytest

from numafit.__main__ import main
from numafit.cluster.device.listing import OffersAnswer
from numafit.host.book.book import Book
from numafit.host.request import JobRequest
from numafit.show.json import json_text
from numafit.show.records.agent import MetricsAnswer
from numafit.show.records.audit import AuditAnswer
from numafit.show.records.checkup import CheckupAnswer
from numafit.show.records.docker import DockerPlanAnswer, ReviewAnswer
from numafit.show.records.gpu_links import LinksAnswer
from numafit.show.records.leases import FreeAnswer, HistoryAnswer, LeaseList
from numafit.show.records.plan import JobPlanAnswer
from numafit.show.records.replay import CaseComputed, ReplaySummary
from numafit.show.records.sarif import SarifLog
from numafit.show.records.shares import SharesAnswer
from tests.cli.kubelet.test_replay import merge_case, write
from tests.host.ledgers import me, small_host, taken

NODE = "--machine examples/small-node/machine.json --kubelet examples/small-node/kubelet.yaml"
SCRIPT = """docker run --name one --cpuset-cpus 0-3 --gpus '"device=0"' box
docker run --cpus 127 box
"""
ANSWERS: tuple[tuple[str, type[msgspec.Struct]], ...] = (
    (f"doctor {NODE} -o json", CheckupAnswer),
    (f"doctor {NODE} --state {{state}} --repair -o json", CheckupAnswer),
    ("replay {cases} -o json", ReplaySummary),
    ("machine links --machine gpu8-128cpu -o json", LinksAnswer),
    ("machine links --machine 'sketch:2 sockets x 4 cores' -o json", LinksAnswer),
    ("device-plugin --machine gpu8-128cpu --dry-run -o json", OffersAnswer),
    ("lint {wrong} -o sarif", SarifLog),
    ("metrics list -o json", MetricsAnswer),
    ("ps -o json", LeaseList),
    ("free -o json", FreeAnswer),
    ("history -o json", HistoryAnswer),
    ("run --machine gpu8-128cpu --cpus 4 --memory 1Gi --gpus 2 --dry-run -o json", JobPlanAnswer),
    ("run --machine gpu8-128cpu --shared --dry-run -o json", JobPlanAnswer),
    ("docker plan --machine gpu8-128cpu --cpus 4 --memory 1Gi --gpus 2 -o json", DockerPlanAnswer),
    ("docker plan --machine gpu8-128cpu --file {script} -o json", ReviewAnswer),
    ("rank --machine gpu8-128cpu --dry-run -o json", SharesAnswer),
    ("audit {pid} -o json", AuditAnswer),
    ("audit --leases -o json", AuditAnswer),
)


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """What the commands above are told: a ledger with a lease, one that waits and one refused, files, a rank."""
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setenv("NUMAFIT_STATE", str(tmp_path / "ledger"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    with Book.open(tmp_path / "ledger") as book:
        taken(book, small_host(), JobRequest(cpus=1, memory=1 << 20, name="n"), me("a command"))
        book.take(small_host(), JobRequest(cpus=4, policy="single-numa-node"), me())
        book.enqueue(small_host(), JobRequest(cpus=2), me("later"))
    (tmp_path / "script.sh").write_text(SCRIPT)
    wrong = tmp_path / "kubelet.yaml"
    wrong.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: statik\n"
    )
    cases = write(tmp_path / "cases.jsonl", merge_case(0, None), merge_case(1, [1, True]), merge_case(2, [2, True]))
    state = tmp_path / "state"
    main(["simulate", *NODE.split(), "examples/small-node/pod.yaml", "--write-state", str(state)])
    file = state / "cpu_manager_state"
    file.write_text(file.read_text().replace('"checksum":', '"checksum":1'))
    capsys.readouterr()
    return {"state": state, "cases": cases, "script": tmp_path / "script.sh", "pid": os.getpid(), "wrong": wrong}


@pytest.mark.parametrize(("line", "record"), ANSWERS, ids=[line for line, _ in ANSWERS])
def test_what_a_command_prints_as_json_is_its_record(
    line: str, record: type[msgspec.Struct], given: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order of its fields, with the same keys left out."""
    assert main(shlex.split(line.format(**given))) in (0, 1)
    out = capsys.readouterr().out
    assert f"{json_text(msgspec.json.decode(out, type=record))}\n" == out


def test_each_line_of_replay_out_is_a_record(given: dict[str, object], tmp_path: Path) -> None:
    """One per case, also of those without an expected result."""
    main(["replay", str(given["cases"]), "--out", str(tmp_path / "out.jsonl")])
    lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert [msgspec.json.encode(msgspec.json.decode(line, type=CaseComputed)) for line in lines] == lines
    assert len(lines) == 3
