"""The Dockerfile, as far as it can be judged without an engine."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINES = re.sub(r"\\\n", " ", (ROOT / "deploy" / "Dockerfile").read_text()).splitlines()
STEPS = [line.split(maxsplit=1) for line in LINES if line and not line.startswith("#")]
"""(instruction, the rest)."""


def stages() -> list[list[list[str]]]:
    found: list[list[list[str]]] = []
    for step in STEPS:
        if step[0] == "FROM":
            found.append([])
        if found:
            found[-1].append(step)
    return found


def test_nothing_is_built_or_fetched_in_the_last_stage() -> None:
    """And it is not root's: a kubelet with runAsNonRoot believes numbers only."""
    _, last = stages()
    assert [own for own, _ in last] == ["FROM", "LABEL", "COPY", "ENV", "USER", "WORKDIR", "ENTRYPOINT", "CMD"]
    steps = dict(own for own in last)
    assert steps["USER"] == "65532:65532"
    assert steps["COPY"].startswith("--from=build ")
    assert steps["ENTRYPOINT"] == '["numafit"]'


def test_both_stages_have_the_same_python() -> None:
    """The environment of the first one is used in the second."""
    assert [own[0][1] for own in stages()] == ["${BASE} AS build", "${BASE}"]


def test_whatever_is_installed_is_pinned_by_its_hash() -> None:
    runs = " ".join(rest for own, rest in stages()[0] if own == "RUN")
    installs = re.findall(r"pip [^&]* install [^&]*", runs)
    assert len(installs) == 3
    assert all("--require-hashes" in own or "--no-index" in own for own in installs)
    assert all("--no-deps" in own for own in installs)


def test_the_context_has_what_is_copied_and_nothing_else() -> None:
    copied = {word.rstrip("/") for own, rest in stages()[0] if own == "COPY" for word in rest.split()[:-1]}
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line.removeprefix("!") for line in ignore if line.startswith("!")}
    assert copied == allowed
    assert "*" in ignore
    assert all((ROOT / path).exists() for path in allowed)
