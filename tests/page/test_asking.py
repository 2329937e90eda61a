"""Asking as people ask, in a real browser: why not here, what if it were gone, pinned answers, advice as buttons."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.page.conftest import Open
from tests.page.test_what_if_view import HUGE, SMALL, drop

pytestmark = pytest.mark.real

FIVE = SMALL.replace('cpu: "2"', 'nvidia.com/gpu: "5", cpu: "2"').replace("small", "five")
IDLE = "as if it were idle"
POLICY = "Topology policy"


def test_why_not_here_is_asked_by_a_menu(open_page: Open, picture: Callable[..., bytes]) -> None:
    """With the keyboard or a finger; the answer names what is lacking there, by the hints of the managers."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(FIVE)
    page.get_by_label(IDLE).check()
    page.get_by_label(POLICY).select_option("single-numa-node")
    page.get_by_label("Why is default/five not on that NUMA node?").select_option("1")
    page.locator(".why-not .sentence").wait_for()
    picture(page)
    assert page.locator(".why-not .sentence").inner_text() == (
        "Node 1 alone cannot give 5 nvidia.com/gpu: it has 4 in all."
    )
    rows = [row.split("\t")[:4] for row in page.locator(".why-not tbody tr").all_inner_texts()]
    assert rows[0] == ["GPUs", "5", "4 of 4", "✕ not offered"]
    assert [row[3] for row in rows[1:]] == ["✓ preferred"] * (len(rows) - 1)
    # The address follows a little later than the answer.
    page.wait_for_function(
        """() => {
            const question = (location.hash.split('/')[1] || '').replaceAll('-', '+').replaceAll('_', '/')
            return atob(question).includes('"why":1')
        }"""
    )
    page.reload()
    page.locator(".why-not .sentence").wait_for()
    page.locator(".why-not").get_by_role("button", name="Close").click()
    page.locator(".why-not").wait_for(state="detached")


def test_a_pod_is_dragged_onto_a_numa_node(open_page: Open) -> None:
    """And asks the same."""
    page = open_page(fragment="#what-if", size=(1280, 1400))
    page.locator("#pods").fill(SMALL)
    page.get_by_label(IDLE).check()
    page.locator(".verdict.admitted").wait_for()
    page.locator(".drag-pod").drag_to(page.locator("g.node[data-node='1'] .node-title"))
    page.locator(".why-not .sentence").wait_for()
    assert page.locator(".why-not h3").inner_text().startswith("Why not on NUMA 1?")
    assert page.locator(".why-not .sentence").inner_text().startswith("Node 1 would do as well; of equal places")
    assert page.locator("[data-over]").count() == 0


def test_a_holder_is_dragged_onto_a_numa_node(open_page: Open) -> None:
    """It leaves, and a pod like it comes: that is asked about this node."""
    page = open_page()
    holder = page.locator(".holders li", has_text="aligned").first
    name = holder.locator(".name").inner_text()
    holder.locator("button.holder").drag_to(page.locator("g.node[data-node='1'] .node-title"))
    page.locator(".why-not .sentence").wait_for()
    assert page.locator(".chips .name").all_inner_texts() == [name]
    assert page.locator(".why-menu").input_value() == "1"
    assert page.locator(".view-what-if").count() == 1


def test_what_if_it_were_gone(open_page: Open, picture: Callable[..., bytes]) -> None:
    """What it holds would be free: told as before and after, without a pod. It is there again by one click."""
    page = open_page()
    holder = page.locator(".holders li", has_text="aligned").first
    name = holder.locator(".name").inner_text()
    holder.locator("button.holder").click()
    page.get_by_role("button", name="What if it were gone?").click()
    page.locator(".drawing .was").first.wait_for()
    picture(page)
    assert page.locator(".resolved").inner_text().startswith(f"What would be free without {name}")
    before, after = re.findall(r"(\d+) → (\d+) of", " ".join(page.locator(".node-free").all_text_contents()))[0]
    assert int(before) < int(after)
    page.get_by_role("button", name=f"{name} is there again").click()
    page.get_by_text("Paste a Pod manifest, drop a file").wait_for()
    page.locator("#pods").fill(SMALL)
    page.locator("#gone").select_option(label=name)
    page.locator(".verdict").wait_for()
    assert page.locator(".chips .name").all_inner_texts() == [name]


def test_a_pinned_answer_does_not_change_by_itself(open_page: Open, picture: Callable[..., bytes]) -> None:
    """It says when it was given; the live one beside it goes on, and how they differ is told."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(SMALL)
    page.locator(".verdict").wait_for()
    page.get_by_role("button", name="Pin", exact=True).click()
    pinned = page.locator(".pinned")
    clock = pinned.locator("time").inner_text()
    assert re.fullmatch(r"\d\d:\d\d:\d\d", clock)
    kept = ".pinned .verdict, .pinned .node-free, .pinned .bar-free"
    said = page.locator(kept).all_text_contents()
    live = ".answer:not(.pinned) .node-free, .answer:not(.pinned) .bar-free"
    first = page.locator(live).all_text_contents()
    page.wait_for_function(
        "([live, first]) => [...document.querySelectorAll(live)].map((one) => one.textContent).join() !== first",
        arg=[live, ",".join(first)],
    )
    picture(page)
    assert page.locator(kept).all_text_contents() == said
    assert pinned.locator("time").inner_text() == clock
    page.locator("#pods").fill(HUGE)
    page.locator(".answer:not(.pinned) .verdict.rejected").wait_for()
    assert page.locator(kept).all_text_contents() == said
    page.get_by_role("link", name="Machine").click()
    page.get_by_role("link", name="What if").click()
    pinned.locator(".bar-free").first.wait_for()
    assert page.locator(kept).all_text_contents() == said
    pinned.get_by_role("button", name="Ask it again").click()
    page.wait_for_function("() => document.getElementById('pods').value.includes('small')")
    pinned.get_by_role("button", name="Unpin").click()
    assert pinned.count() == 0


def test_advice_is_applied_and_undone(open_page: Open, picture: Callable[..., bytes]) -> None:
    """Apply and see; the text keeps all else, the form shows it, and undo brings back what was."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(FIVE)
    page.get_by_label(IDLE).check()
    page.get_by_label(POLICY).select_option("single-numa-node")
    page.locator(".advice").get_by_role("button", name="Apply").first.click()
    page.locator(".verdict.admitted").wait_for()
    picture(page)
    assert page.locator("#pods").input_value() == FIVE.replace('"5"', '"4"')
    assert page.locator(".done").inner_text().startswith("Applied: main: nvidia.com/gpu 5 -> 4")
    page.get_by_role("button", name="Undo").click()
    page.locator(".verdict.rejected").wait_for()
    assert page.locator("#pods").input_value() == FIVE
    policy = page.locator(".advice li", has_text="topologyManagerPolicy")
    policy.get_by_role("button", name="Apply").click()
    page.locator(".verdict.admitted").wait_for()
    assert "topologyManagerPolicy: best-effort" in page.locator("#kubelet").input_value()
    page.get_by_role("button", name="Undo").click()
    page.locator(".verdict.rejected").wait_for()


def test_undo_belongs_to_what_was_applied(open_page: Open) -> None:
    """Another question has no way back to this one; and what is typed while a proposal is on its way stays."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(FIVE)
    page.get_by_label(IDLE).check()
    page.get_by_label(POLICY).select_option("single-numa-node")
    page.locator(".advice").get_by_role("button", name="Apply").first.click()
    page.locator(".done").wait_for()
    page.locator("#pods").fill(SMALL)
    page.locator(".done").wait_for(state="detached")
    held: list[Any] = []
    page.route("**/api/v1/apply", lambda route: held.append(route))
    page.locator("#pods").fill(FIVE)
    with page.expect_request("**/api/v1/apply"):
        page.locator(".advice").get_by_role("button", name="Apply").first.click()
    page.locator("#pods").fill(SMALL)
    with page.expect_response("**/api/v1/apply"):
        held[0].continue_()
    page.locator(".verdict.admitted").wait_for()
    assert page.locator("#pods").input_value() == SMALL
    assert page.locator(".done").count() == 0


def test_a_holder_is_tried_by_its_manifest(open_page: Open) -> None:
    """The agent has decided about it, and knows its containers."""
    page = open_page()
    holder = page.locator(".holders li", has_text="aligned").first
    name = holder.locator(".name").inner_text().split("/")[1]
    holder.locator("button.holder").click()
    page.get_by_role("button", name="Try this pod").click()
    page.locator(".verdict").wait_for()
    text = page.locator("#pods").input_value()
    assert f"  name: {name}-again\n  namespace: demo\n" in text
    assert f"- name: {name.rsplit('-', 1)[0]}\n" in text


def test_advice_that_cannot_be_applied_says_whose_it_is(open_page: Open) -> None:
    """Eight GPUs are four and four in two pods: no change of this one."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(FIVE.replace('"5"', '"8"'))
    page.get_by_label(IDLE).check()
    page.get_by_label(POLICY).select_option("single-numa-node")
    split = page.locator(".advice li", has_text="2 pods")
    split.get_by_text("For the pod's owner to write").wait_for()
    assert split.get_by_role("button").count() == 0
    applied = page.locator(".advice li", has=page.get_by_role("button", name="Apply"))
    assert applied.count() > 0
    assert not any("owner to write" in text for text in applied.all_inner_texts())


def test_advice_is_copied(open_page: Open) -> None:
    """As YAML of the patch, and as a command."""
    page = open_page(fragment="#what-if", permissions=["clipboard-read", "clipboard-write"])
    page.locator("#pods").fill(FIVE)
    page.get_by_label(IDLE).check()
    page.get_by_label(POLICY).select_option("single-numa-node")
    first = page.locator(".advice li").first
    first.get_by_role("button", name="Copy YAML").click()
    first.get_by_text("Copied").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("spec:\n  containers:\n  - name: main\n")
    first.get_by_role("button", name="Copy kubectl patch").click()
    page.wait_for_function("async () => (await navigator.clipboard.readText()).startsWith('kubectl')")
    command = page.evaluate("navigator.clipboard.readText()")
    assert command.startswith("kubectl get pod five --namespace default")
    assert '--patch \'{"spec"' in command


def test_how_many_fit_is_counted_when_it_is_asked_for(open_page: Open, picture: Callable[..., bytes]) -> None:
    """With what stops the next one, and what is left on each NUMA node."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(SMALL.replace('cpu: "2"', 'cpu: "40"'))
    page.get_by_label(IDLE).check()
    page.get_by_label(POLICY).select_option("single-numa-node")
    page.get_by_text("How many of these fit?").click()
    page.locator(".fitting table").wait_for()
    picture(page)
    text = page.locator(".fitting p").inner_text()
    assert text.startswith("default/small: 2 more pods fit. The next is rejected: TopologyAffinityError")
    assert page.locator(".fitting tbody th").all_inner_texts() == ["NUMA 0", "NUMA 1"]


def test_lint_stands_below_the_text_and_leads_to_the_line(open_page: Open) -> None:
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(SMALL.replace("cpu: ", "cpus: "))
    page.locator(".lint summary").wait_for()
    if page.locator(".lint[open]").count() == 0:
        page.locator(".lint summary").click()
    button = page.locator(".lint button").first
    line = int(button.inner_text().split()[-1])
    button.click()
    chosen = page.evaluate("() => { const a = document.activeElement; return a.value.slice(0, a.selectionStart) }")
    assert chosen.count("\n") + 1 == line


@pytest.mark.parametrize(
    ("summary", "label", "text", "line"),
    [
        ("Events", "Events", "stop\nfly away\n", 2),
        ("KubeletConfiguration", "KubeletConfiguration", "kind: KubeletConfiguration\na: [\n", 3),
    ],
)
def test_a_wrong_line_is_marked_in_every_text(open_page: Open, summary: str, label: str, text: str, line: int) -> None:
    """Not in the pods alone."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(SMALL)
    page.locator("summary", has_text=summary).click()
    page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name=f"Go to line {line}").wait_for()
    assert page.get_by_label(label, exact=True).get_attribute("aria-invalid") == "true"
    assert page.locator("#pods").get_attribute("aria-invalid") == "false"


def test_the_story_has_advice_too(open_page: Open, picture: Callable[..., bytes]) -> None:
    """Of a pod that was refused; applied, it becomes a question with the way back."""
    page = open_page("dgx-h100", fragment="#story")
    page.get_by_label("Filter by verdict").select_option("rejected")
    page.locator(".entry.rejected").first.click()
    name = page.locator(".verdict strong").inner_text()
    page.get_by_role("button", name="What would help?").click()
    page.locator(".story-advice > .advice, .story-advice > .note").first.wait_for()
    picture(page)
    page.get_by_role("button", name="Try this pod").click()
    page.locator(".verdict").wait_for()
    assert f"name: {name.split('/')[1]}" in page.locator("#pods").input_value()


def test_a_log_can_be_pasted_and_its_decisions_have_a_picture(open_page: Open, picture: Callable[..., bytes]) -> None:
    """A tile for each NUMA node, with what each manager offered there; told aloud, too."""
    from tests.service.agents import ROOT

    page = open_page(fragment="#story")
    page.get_by_role("button", name="Paste a log").click()
    page.get_by_label("Kubelet log as text").fill((ROOT / "examples/small-node/recreate-loop.log").read_text())
    page.get_by_role("button", name="Read it").click()
    page.locator(".hint-picture").first.wait_for()
    picture(page)
    lines = page.locator(".hint-picture").first.locator("text.hint-line").all_text_contents()
    assert lines == ["◐ cpu: only with others", "✓ memory: fits here ★", "✓ cpu: fits here ★", "✕ memory: not here"]
    assert "memory alone on 0" in (page.locator(".hint-picture svg").first.get_attribute("aria-label") or "")


def test_a_dropped_manifest_is_still_a_question(open_page: Open) -> None:
    """A picture that takes pods lets files pass."""
    page = open_page(fragment="#machine")
    page.locator("g.node").first.wait_for()
    drop(page, "pod.yaml", SMALL)
    page.locator(".verdict").wait_for()


def test_the_form_has_huge_pages_replicas_classes_init_and_sidecar(open_page: Open) -> None:
    """Each step stands in the text at once, and the text of all of them is read back by the form."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(SMALL)
    page.locator(".pod-form summary").click()
    page.get_by_label("More: huge pages of 2Mi, MiB").click()
    page.get_by_label("More: replicas").click()
    page.get_by_label("init container", exact=True).check()
    page.get_by_label("sidecar", exact=True).check()
    page.locator(".pod-form select").select_option("Burstable")
    page.wait_for_function("() => document.getElementById('pods').value.includes('requests:')")
    text = page.locator("#pods").input_value()
    for line in ("kind: Deployment", "replicas: 2", "hugepages-2Mi: 64Mi", "initContainers:", "restartPolicy: Always"):
        assert line in text
    page.locator("#pods").fill(SMALL)
    page.wait_for_function("() => document.querySelector('.pod-form select').value === 'Guaranteed'")
    page.locator("#pods").fill(text)
    page.wait_for_function("() => document.querySelector('.pod-form select').value === 'Burstable'")
    assert page.get_by_label("replicas", exact=True).input_value() == "2"
    assert page.get_by_label("sidecar", exact=True).is_checked()


def test_no_example_is_clipped(open_page: Open) -> None:
    """Block YAML, whose lines fit the editor."""
    page = open_page(fragment="#what-if")
    chooser = page.get_by_label("Pick an example")
    chooser.locator("option").nth(1).wait_for(state="attached")
    names = [option.get_attribute("value") or "" for option in chooser.locator("option").all()]
    for name in names[1:]:
        chooser.select_option(name)
        page.locator(".verdict").wait_for()
        assert "{" not in page.locator("#pods").input_value(), name
        assert (
            page.evaluate("() => { const a = document.getElementById('pods'); return a.scrollWidth - a.clientWidth }")
            == 0
        )
    assert len(names) > 3
