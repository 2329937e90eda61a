"""On a system that is not Linux: what predicts works as everywhere, and what needs Linux says so in one sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SMALL = "examples/small-node"
NODE = ["--machine", f"{SMALL}/machine.json", "--kubelet", f"{SMALL}/kubelet.yaml"]

PREDICTS = {
    "help": ["--help"],
    "simulate": ["simulate", SMALL],
    "simulate wide": ["simulate", "-o", "wide", SMALL],
    "explain": ["explain", SMALL],
    "explain --log": ["explain", "--log", f"{SMALL}/recreate-loop.log"],
    "advise": ["advise", *NODE, f"{SMALL}/crowded"],
    "fit": ["fit", "--compare", SMALL],
    "compare": ["compare", "--with-kube-version", "1.27", SMALL],
    "lint": ["lint", SMALL],
    "doctor": ["doctor", *NODE],
    "replay": ["replay", "tests/recordings/v1.20.1/seed.jsonl.gz"],
    "replay --jobs": ["replay", "--jobs", "2", "tests/recordings/v1.20.1/seed.jsonl.gz"],
    "machine list": ["machine", "list"],
    "machine show": ["machine", "show", "--machine", "dgx-h100"],
    "machine show svg": ["machine", "show", "--machine", f"{SMALL}/machine.json", "-o", "svg"],
    "machine links": ["machine", "links", "--machine", "dgx-h100"],
    "machine convert": ["machine", "convert", "--machine", "dgx-h100", "--to", "numactl"],
    "sketch": ["machine", "show", "--machine", "sketch:2 sockets x 4 cores x 2 threads, 8Gi per numa"],
    "metrics list": ["metrics", "list"],
    "completion": ["completion", "bash"],
}
NEEDS_LINUX = {
    "audit": ["audit", "--all"],
    "docker": ["docker", "run", "--cpus", "2", "alpine"],
    "free": ["free"],
    "history": ["history"],
    "machine capture": ["machine", "capture"],
    "measure": ["measure"],
    "machine show": ["machine", "show"],
    "ps": ["ps", "-o", "json"],
    "rank": ["rank", "--", "true"],
    "release": ["release", "--help"],
    "run": ["run", "--cpus", "2", "--", "true"],
    "serve": ["serve"],
    "serve --demo": ["serve", "--demo"],
    "simulate on this machine": ["simulate", f"{SMALL}/pod.yaml"],
}


def numafit(module: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", module, *arguments]
    variables = {name: value for name, value in os.environ.items() if name != "NUMAFIT_DEBUG"}
    return subprocess.run(line, cwd=ROOT, env=variables, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("name", PREDICTS)
def test_what_predicts_works_without_linux(name: str) -> None:
    """Word for word as on Linux: modules, functions and folders of Linux are gone."""
    here, elsewhere = (numafit(module, PREDICTS[name]) for module in ("numafit", "tests.elsewhere"))
    assert (elsewhere.returncode, elsewhere.stdout, elsewhere.stderr) == (here.returncode, here.stdout, here.stderr)
    assert here.stdout


@pytest.mark.parametrize("name", NEEDS_LINUX)
def test_what_needs_linux_says_so(name: str) -> None:
    """In one sentence, with what works instead."""
    done = numafit("tests.elsewhere", NEEDS_LINUX[name])
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert line.startswith("numafit: ")
    assert " needs Linux (what predicts works here, from simulate to replay, with --machine" in line


def test_files_are_written_without_linux(tmp_path: Path) -> None:
    """A picture, state files, a recording, a report: each takes its place when it is whole."""
    places = [
        "--picture",
        f"{tmp_path}/box.svg",
        "--write-state",
        f"{tmp_path}/state",
        "--record",
        f"{tmp_path}/r.jsonl",
    ]
    done = numafit("tests.elsewhere", ["simulate", *places, SMALL])
    assert (done.returncode, done.stderr) == (0, "")
    there = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert {"box.svg", "r.jsonl", "state/cpu_manager_state", "state/memory_manager_state"} <= there


def test_an_agent_by_a_unix_socket_is_refused_where_there_are_none() -> None:
    done = numafit("tests.elsewhere", ["simulate", "--agent", "/run/numafit.sock", f"{SMALL}/pod.yaml"])
    assert done.returncode == 2
    assert "this system has no unix sockets" in done.stderr
