"""Answers on a terminal: they fit its width with nothing cut, and verdicts have a colour where it has them."""

import json
import re
from pathlib import Path

import pytest

from numafit.__main__ import main
from numafit.show.table import GOOD, Screen
from tests.cli.terminals import ROOT, seen

COLOUR = re.compile(r"\x1b\[[\d;]*m")
BOX = "examples/gpu-box"
WIDE = "sketch:4 sockets x 64 cores x 2 threads, 64Gi per numa"
"""512 CPUs."""
ANSWERS = {
    "simulate": ["simulate", BOX],
    "simulate wide": ["simulate", "-o", "wide", BOX],
    "explain": ["explain", BOX],
    "explain --log": ["explain", "--log", "examples/small-node/recreate-loop.log"],
    "advise": ["advise", "examples/small-node"],
    "fit": ["fit", BOX],
    "fit --compare": ["fit", "--compare", BOX],
    "compare": ["compare", "--with-kube-version", "1.27", BOX],
    "lint": ["lint", "examples/small-node"],
    "doctor": ["doctor", "--machine", f"{BOX}/machine.yaml", "--kubelet", f"{BOX}/kubelet.yaml"],
    "replay": ["replay", "tests/recordings/v1.20.1/seed.jsonl.gz"],
    "machine list": ["machine", "list"],
    "machine show": ["machine", "show", "--machine", "dgx-a100"],
    "machine show cpus": ["machine", "show", "--machine", "epyc-nps4", "--table", "cpus"],
    "machine show numa": ["machine", "show", "--machine", "gb200", "--table", "numa"],
    "machine show numa 512": ["machine", "show", "--machine", WIDE, "--table", "numa"],
    "machine show devices": ["machine", "show", "--machine", "dgx-a100", "--table", "devices"],
    "machine show links": ["machine", "show", "--machine", "dgx-h100", "--table", "links"],
    "machine links": ["machine", "links", "--machine", "dgx-h100"],
    "metrics list": ["metrics", "list"],
    "ps": ["ps"],
    "free": ["free"],
    "history": ["history"],
    "audit": ["audit", "--all"],
    "run --dry-run": [
        "run",
        "--dry-run",
        "--explain",
        "--machine",
        "dgx-h100",
        "--cpus",
        "4",
        "--gpus",
        "2",
        "--",
        "x",
    ],
}


def words(text: str) -> str:
    """Without what layout adds: blanks, and the marks between columns that stand below others."""
    return re.sub(r"[\s;]+", "", COLOUR.sub("", text))


def too_long(text: str, columns: int) -> list[str]:
    """One word that is longer than the screen stays whole."""
    lines = COLOUR.sub("", text).splitlines()
    return [line for line in lines if len(line) > columns and len(line.split()) > 1]


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_fits_the_terminal(name: str, columns: int, tmp_path: Path) -> None:
    """The ledger of the host is an empty one."""
    text = seen(ANSWERS[name], columns, {"NUMAFIT_STATE": str(tmp_path)})
    assert text
    assert too_long(text, columns) == []


@pytest.mark.parametrize(
    "name", ["simulate", "simulate wide", "fit", "compare", "machine show numa 512", "metrics list"]
)
def test_nothing_is_cut_on_a_terminal(
    name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each word of the plain text is there, in whichever order columns and rows stand; `-` may be left away."""
    monkeypatch.chdir(ROOT)
    main(ANSWERS[name])
    plain = capfd.readouterr().out
    screen = words(seen(ANSWERS[name], 40))
    assert [word for word in plain.split() if word != "-" and words(word) not in screen] == []


def test_cpu_lists_of_a_large_machine_go_on_in_their_column(tmp_path: Path) -> None:
    """512 CPUs in 16 NUMA nodes, of which every second CPU is taken."""
    limits = {"cpu": "100", "memory": "1Gi"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "wide"},
        "spec": {"containers": [{"name": "app", "image": "app", "resources": {"limits": limits}}]},
    }
    (tmp_path / "pod.json").write_text(json.dumps(pod))
    (tmp_path / "kubelet.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n"
        "reservedSystemCPUs: 0-510:17\ntopologyManagerPolicy: best-effort\n".replace(
            "0-510:17", ",".join(map(str, range(0, 510, 17)))
        )
    )
    arguments = ["simulate", "--machine", WIDE, str(tmp_path)]
    text = seen(arguments, 80)
    assert "default/wide" in text
    assert too_long(text, 80) == []


def test_a_pipe_gets_each_row_in_one_line(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where COLUMNS is set: grep finds a pod with all that is said of it."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "40")
    main(["simulate", BOX])
    out = capfd.readouterr().out
    assert (
        "default/train          Guaranteed  admitted               0     1-24,65-88  -       GPU0, GPU1, GPU2, GPU3\n"
        in out
    )
    assert "\x1b" not in out


def test_columns_says_the_width() -> None:
    assert too_long(seen(["simulate", BOX], 200, {"COLUMNS": "60"}), 60) == []


def test_a_complaint_fits_the_terminal() -> None:
    """Into a file it is one line, as every other test of a complaint shows."""
    text = seen(["simulate", "--machine", "dgx-h10", BOX], 50, errors=True)
    assert text.splitlines() == [
        "numafit: dgx-h10: is neither a file nor a machine",
        "  of the catalogue (did you mean dgx-h100 or",
        "  dgx-a100?)",
    ]


GREEN, RED = "\x1b[32madmitted\x1b[0m", "\x1b[31mTopologyAffinityError\x1b[0m"


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({}, True),
        ({"TERM": "dumb"}, False),
        ({"CLICOLOR": "0"}, False),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
    ],
)
def test_verdicts_have_a_colour_where_the_terminal_has_them(variables: dict[str, str], coloured: bool) -> None:
    text = seen(["simulate", BOX], 80, variables)
    assert (GREEN in text, RED in text, "\x1b" in text) == (coloured, coloured, coloured)


@pytest.mark.parametrize("name", ["FORCE_COLOR", "CLICOLOR_FORCE"])
def test_colours_can_be_forced_into_a_pipe(
    name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pager shows them; what has no colour anyway (JSON) stays as it is."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(name, "1")
    main(["simulate", BOX])
    assert GREEN in capfd.readouterr().out
    main(["simulate", "-o", "json", BOX])
    assert "\x1b" not in capfd.readouterr().out


def test_colours_never_say_it_alone() -> None:
    """Without them the text is the same, letter by letter."""
    for name in ("simulate", "explain", "lint", "doctor", "advise"):
        assert COLOUR.sub("", seen(ANSWERS[name], 80)) == seen(ANSWERS[name], 80, {"NO_COLOR": "1"})


def test_a_name_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever stands in a file: a title, a cleared screen, a text that runs backwards."""
    path = tmp_path / "\x1b]0;title\x07.yaml"
    path.write_text("apiVersion: v1\nkind: \u202ePod\n")
    main(["simulate", str(path), "--machine", f"{BOX}/machine.yaml"])
    main(["lint", str(path)])
    output = capsys.readouterr()
    assert "?]0;title?.yaml" in output.err + output.out
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", output.err + output.out)


def test_only_own_colours_reach_a_terminal_that_has_colours() -> None:
    coloured = Screen(80, coloured=True)
    painted = coloured.paint("admitted", GOOD)
    assert coloured.cleaned(f"{painted} \x1b[8mhidden\x9b2J\ttab\n") == f"{painted} ?[8mhidden?2J\ttab\n"
    assert Screen(80).cleaned(painted) == "?admitted?"
