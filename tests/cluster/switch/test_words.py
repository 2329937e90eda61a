"""What people read before they say yes."""

from pathlib import Path

from numafit.cluster.switch.journal import BEGUN, DONE, FAILED, JournalEntry
from numafit.cluster.switch.plan import plan_switch
from numafit.cluster.switch.words import entry_text, plan_text
from tests.cluster.switch.nodes import STATIC, config, pod, question

DOCS = Path(__file__).resolve().parents[3] / "docs" / "node-switch.md"
CONFIG = "/var/lib/kubelet/config.yaml"
OLD = config(**{**STATIC, "cpuManagerPolicy": "none"})
NEW = config(**{**STATIC, "topologyManagerPolicy": "single-numa-node"})
PODS = [pod("train-0", 4), pod("wide-0", 10), pod("exporter-x7k", 0, owner="DaemonSet")]


def test_the_plan_of_the_documentation_is_the_one_that_is_printed() -> None:
    text = plan_text(plan_switch(question(OLD, NEW, PODS)), CONFIG, was_cordoned=False)
    assert f"```text\n{text}\n```" in DOCS.read_text(), f"docs/node-switch.md should say\n{text}"


def test_a_plan_with_pods_kept_has_no_drain() -> None:
    text = plan_text(plan_switch(question(OLD, NEW, PODS, keep_pods=True)), CONFIG, was_cordoned=True)
    assert "drain:" not in text
    assert "uncordon:" not in text
    assert "With --keep-pods" not in text


def test_a_plan_that_says_no_shows_no_steps() -> None:
    new = config(**{**STATIC, "cpuManagerPolicy": "statik"})
    text = plan_text(plan_switch(question(config(**STATIC), new, PODS)), CONFIG, was_cordoned=False)
    assert "Steps" not in text
    assert text.endswith('No: the new kubelet would not start: unknown policy: "statik"')
    assert text.count("statik") == 2, "the same thing is not told by lint and doctor"
    bare = plan_text(plan_switch(question(OLD, NEW, [pod("bare", owner="")])), CONFIG, was_cordoned=False)
    assert bare.endswith("No: 1 pod is in the way")


def test_what_is_wrong_with_the_present_configuration_too_is_no_news() -> None:
    both = {**STATIC, "evictionHard": {"memory.available": "100Mi"}}
    plan = plan_switch(question(config(**both), config(**{**both, "topologyManagerScope": "pod"})))
    assert plan.warnings == ()
    fresh = plan_switch(question(config(**STATIC), config(**both)))
    assert [each.code for each in fresh.warnings] == ["NF202"]


def test_each_line_of_the_log_has_its_time() -> None:
    time = "2026-11-16T12:00:23.782Z"
    assert entry_text(JournalEntry("stop", BEGUN, time)) == "12:00:23.782 stop: the kubelet is stopped"
    assert entry_text(JournalEntry("stop", DONE, time, "by hand")) == "12:00:23.782 stop done: by hand"
    assert entry_text(JournalEntry("stop", FAILED, time, "no")) == "12:00:23.782 stop failed: no"
