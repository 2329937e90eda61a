"""The what-if view in a real browser."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from tests.page.conftest import Open

pytestmark = pytest.mark.real

SMALL = """apiVersion: v1
kind: Pod
metadata: {name: small}
spec:
  containers:
  - name: main
    image: example
    resources:
      limits: {cpu: "2", memory: 1Gi}
"""
HUGE = SMALL.replace('cpu: "2"', 'cpu: "100"').replace("small", "huge")


def test_a_pasted_manifest_is_answered_at_once(open_page: Open, picture: Callable[..., bytes]) -> None:
    """Verdict, picture with the new pod marked, grid, hints and the walk of the merge."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(SMALL)
    page.get_by_label("as if it were idle").check()
    page.locator(".verdict.admitted").wait_for()
    page.locator(".drawing .cpu.new").first.wait_for()
    picture(page)
    assert page.locator(".drawing .cpu.new").count() == 2
    assert page.locator("table.grid tbody tr").count() >= 2
    assert page.locator(".hint.preferred").count() >= 2
    assert page.locator("table.walk .best").count() == 1


def test_a_rejected_pod_comes_with_its_reason_and_advice(open_page: Open, picture: Callable[..., bytes]) -> None:
    """The kubelet's own reason, and what would help."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(HUGE)
    page.get_by_label("as if it were idle").check()
    page.get_by_label("Topology policy").select_option("single-numa-node")
    page.locator(".verdict.rejected").wait_for()
    page.locator(".advice li").first.wait_for()
    picture(page)
    assert page.locator(".verdict .reason").inner_text() == "TopologyAffinityError"


def test_without_a_merge_only_what_stops_the_pod_is_marked(open_page: Open, picture: Callable[..., bytes]) -> None:
    """127 CPUs may be given in all, whatever their NUMA node; memory, which nobody refused, has no tick."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(HUGE.replace("100", "128"))
    page.get_by_label("as if it were idle").check()
    page.get_by_label("Topology policy").select_option("none")
    page.locator(".wanted .decides").first.wait_for()
    picture(page)
    lines = page.locator(".wanted text").all_text_contents()
    assert [line for line in lines if "CPU" in line] == [
        "✕ 128 CPUs needed in all, 63 here",
        "✕ 128 CPUs needed in all, 64 here",
    ]
    assert [line for line in lines if "✓" in line] == []
    assert page.locator("table.grid td.short").count() == 2
    assert page.locator("table.grid td.fits").count() == 0


def test_a_verdict_stands_without_its_advice(open_page: Open, picture: Callable[..., bytes]) -> None:
    """An agent that is too busy for the advice has decided all the same: that stands below "What would help"."""
    page = open_page(fragment="#what-if")
    problem = {"title": "too much is asked at once", "status": 503}
    page.route("**/api/v1/advise", lambda route: route.fulfill(status=503, json=problem))
    page.locator("#pods").fill(HUGE)
    page.get_by_label("as if it were idle").check()
    page.get_by_label("Topology policy").select_option("single-numa-node")
    page.locator(".advice .notice.trouble").wait_for()
    picture(page)
    assert page.locator(".advice .notice.trouble").inner_text() == "too much is asked at once"
    assert page.locator(".verdict .reason").inner_text() == "TopologyAffinityError"
    assert page.locator(".answer .drawing [data-cpu]").count() == 128


def test_advice_comes_where_the_ledger_changes_faster(open_page: Open) -> None:
    """The demonstration decides something every few seconds: a question for advice that takes longer is not begun anew
    with each of them, while the decision is."""
    page = open_page(fragment="#what-if")
    held: list[Any] = []
    page.route("**/api/v1/advise", lambda route: held.append(route))
    page.get_by_label("Topology policy").select_option("single-numa-node")
    with page.expect_request("**/api/v1/advise"):
        page.locator("#pods").fill(HUGE)
    for _ in range(3):
        with page.expect_response("**/api/v1/whatif"):
            pass
    held[0].continue_()
    page.locator(".advice li").first.wait_for()


def test_a_refusal_is_drawn_on_the_picture(open_page: Open, picture: Callable[..., bytes]) -> None:
    """On each NUMA node what is needed and what is there, what stops it marked by sign and colour, and a ghost on free
    CPUs; free counts are told as before and after only where they differ."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(HUGE)
    page.get_by_label("as if it were idle").check()
    page.get_by_label("Topology policy").select_option("single-numa-node")
    page.locator(".verdict.rejected").wait_for()
    picture(page)
    lines = page.locator(".wanted text").all_text_contents()
    cpus = [line for line in lines if "CPU" in line]
    assert cpus == ["✕ 100 CPUs needed, 63 here", "✕ 100 CPUs needed, 64 here"]
    assert [line for line in lines if "GiB" in line and line.startswith("✓ 1 GiB needed, ")] != []
    assert page.locator(".drawing .cpu.ghost").count() == 127
    assert page.locator(".drawing .was").count() == 0
    assert "100 CPUs needed, 63 here" in (page.locator("g.node").first.get_attribute("aria-label") or "")
    page.locator("#pods").fill(SMALL)
    page.locator(".verdict.admitted").wait_for()
    assert page.locator(".wanted, .ghost").count() == 0
    assert page.locator(".drawing .node-free").first.text_content() == "63 → 61 of 64 CPUs free"


def test_the_merge_shows_what_matters(open_page: Open, picture: Callable[..., bytes]) -> None:
    """One row is taken and comes first, the others say why not, and the rest is a number."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(SMALL.replace("1Gi", '1Gi, nvidia.com/gpu: "1"'))
    page.get_by_label("as if it were idle").check()
    page.get_by_label("Topology policy").select_option("best-effort")
    page.locator("table.walk").wait_for()
    picture(page)
    lost = page.locator("table.walk .lost").all_inner_texts()
    assert lost[0] == "← taken"
    assert all(lost[1:])
    assert not any("taken" in why for why in lost[1:])
    assert len(lost) <= 5
    assert page.locator(".rest").inner_text().startswith("And ")


def test_an_answer_says_what_it_stands_on(open_page: Open, picture: Callable[..., bytes]) -> None:
    """Below the answer, one line for each thing that was assumed or is left to chance."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(SMALL.replace("1Gi", '1Gi, nvidia.com/gpu: "1"'))
    page.get_by_label("as if it were idle").check()
    page.locator(".notes li").first.wait_for()
    picture(page)
    assert "default/small:" in page.locator(".notes").inner_text()


def test_what_a_rejected_pod_leaves_behind_does_not_look_held(open_page: Open, picture: Callable[..., bytes]) -> None:
    """In the container scope its first container has CPUs until the next admission: an outline, and not new. Its merge
    was accepted, that of the second was not."""
    second = '  - {name: second, image: x, resources: {limits: {cpu: "100", memory: 1Gi}}}\n'
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(SMALL + second)
    page.get_by_label("as if it were idle").check()
    page.get_by_label("Topology policy").select_option("single-numa-node")
    page.get_by_label("Scope").select_option("container")
    page.locator(".drawing .cpu.gone").first.wait_for()
    picture(page)
    assert page.locator(".drawing .cpu.gone").count() == 2
    assert page.locator(".drawing .new").count() == 0
    assert page.locator(".legend li").all_inner_texts() == [
        "reserved",
        "free: claimed by nobody",
        "wanted, and too little here",
        "left over: freed at the next admission",
    ]
    best = page.locator("table.walk .best .lost").all_inner_texts()
    assert best[0] == "← accepted"
    assert "← accepted" not in best[1:]
    outcomes = page.locator(".merge .outcome").all_inner_texts()
    assert [text.rsplit(" ", 1)[1] for text in outcomes] == ["accepts", "rejects"]


def test_enough_that_does_not_do_is_not_called_fitting(open_page: Open, picture: Callable[..., bytes]) -> None:
    """Of free CPUs that are halves of cores, `full-pcpus-only` takes none."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(SMALL.replace('cpu: "2"', 'cpu: "3"'))
    page.get_by_label("as if it were idle").check()
    page.get_by_text("Policy options").click()
    page.get_by_label("full-pcpus-only").check()
    page.locator(".verdict.rejected").wait_for()
    picture(page)
    row = page.locator("table.grid tbody tr", has_text="cpu").first
    assert row.locator("td.fits").count() == 0
    assert "enough, but not by the rules" in row.inner_text()


def test_two_settings_stand_side_by_side(open_page: Open, picture: Callable[..., bytes]) -> None:
    """Each with its own verdict, and one sentence says how they differ."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(HUGE)
    page.get_by_label("as if it were idle").check()
    page.get_by_role("button", name="Two side by side").click()
    page.locator("#right-policy").select_option("single-numa-node")
    page.locator("#left-policy").select_option("best-effort")
    page.locator(".answer[aria-label='Answer A'] .verdict.admitted").wait_for()
    page.locator(".answer[aria-label='Answer B'] .verdict.rejected").wait_for()
    picture(page)
    assert page.locator(".difference").inner_text() == "A and B differ in the verdict on default/huge."
    page.get_by_label("Answer B").get_by_role("button", name="Pin", exact=True).click()
    assert page.locator(".pinned .pin-head strong").inner_text().startswith("Pinned: B as of ")
    assert page.locator(".pinned .pin-head .note").inner_text() == "The answer of now says the same."


def test_a_link_restores_the_whole_view(open_page: Open) -> None:
    """Pods, machine, settings of both sides: the address holds them all."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(SMALL)
    page.locator("#on").select_option("laptop")
    page.get_by_role("button", name="Two side by side").click()
    page.locator("#right-version").select_option("v1.24")
    page.wait_for_function("() => location.hash.length > 100")
    page.wait_for_timeout(500)
    again = open_page(fragment="#" + page.evaluate("location.hash").lstrip("#"))
    again.locator(".answer[aria-label='Answer B'] .verdict").wait_for()
    assert again.locator("#pods").input_value() == SMALL
    assert again.locator("#on").input_value() == "laptop"
    assert again.locator("#right-version").input_value() == "v1.24"
    assert again.locator(".answer[aria-label='Answer B'] [data-cpu]").count() == 8


def test_a_dropped_manifest_becomes_a_question(open_page: Open) -> None:
    """Wherever it is dropped."""
    page = open_page()
    page.locator("[data-cpu]").first.wait_for()
    drop(page, "pod.yaml", SMALL)
    page.locator(".verdict").wait_for()
    assert page.locator("#pods").input_value() == SMALL


def test_a_broken_manifest_gets_one_sentence(open_page: Open, picture: Callable[..., bytes]) -> None:
    """With the place; the page goes on working."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill("kind: Pod\n  broken: [")
    trouble = page.locator(".notice.trouble")
    trouble.wait_for()
    picture(page)
    assert "2" in trouble.inner_text()
    assert page.locator(".wrong-line").inner_text() == "2"
    assert page.locator("#pods").get_attribute("aria-invalid") == "true"
    page.get_by_role("button", name="Go to line 2").click()
    assert page.evaluate("getSelection().toString()") == "  broken: ["
    page.locator("#pods").fill(SMALL)
    page.locator(".verdict").wait_for()
    assert trouble.count() == 0


def test_form_and_yaml_are_two_views_of_one_pod(open_page: Open, picture: Callable[..., bytes]) -> None:
    """A step in the form changes the text, and the text the form; a manifest that says more is left alone."""
    page = open_page(fragment="#what-if")
    page.get_by_role("button", name="Ask with this pod").click()
    page.locator(".verdict").wait_for()
    page.get_by_role("button", name="More: GPUs").click()
    page.get_by_role("button", name="Less: CPUs").click()
    page.get_by_label("QoS").select_option("Burstable")
    text = page.locator("#pods").input_value()
    assert 'requests:\n        cpu: "1"\n' in text
    assert 'nvidia.com/gpu: "1"' in text
    page.locator("#pods").fill(SMALL)
    assert page.get_by_label("CPUs", exact=True).input_value() == "2"
    page.get_by_text("Huge pages, init container").click()
    page.get_by_label("sidecar").check()
    assert "restartPolicy: Always" in page.locator("#pods").input_value()
    page.get_by_role("button", name="More: replicas").click()
    assert "kind: Deployment" in page.locator("#pods").input_value()
    page.locator(".pod-tabs button").nth(1).wait_for()
    picture(page)
    for more in (SMALL.replace("spec:", "spec:\n  nodeName: here"), "# ours\n" + SMALL):
        page.locator("#pods").fill(more)
        page.get_by_label("CPUs", exact=True).wait_for(state="detached")
        assert page.locator("#pods").input_value() == more
    assert "has comments" in page.locator(".pod-form").inner_text()


def test_a_step_keeps_what_the_form_does_not_show(open_page: Open) -> None:
    """The names of containers and their images: a patch names the container that the real pod has."""
    page = open_page(fragment="#what-if", permissions=["clipboard-read", "clipboard-write"])
    web = HUGE.replace("name: main", "name: web").replace("image: example", "image: nginx:1.25")
    page.locator("#pods").fill(web)
    page.get_by_label("as if it were idle").check()
    page.get_by_label("Topology policy").select_option("single-numa-node")
    page.get_by_role("button", name="More: CPUs").click()
    text = page.locator("#pods").input_value()
    assert 'cpu: "101"' in text
    assert "- name: web\n    image: nginx:1.25\n" in text
    page.locator(".advice li").first.get_by_role("button", name="Copy kubectl patch").click()
    page.wait_for_function("async () => (await navigator.clipboard.readText()).startsWith('kubectl')")
    command = page.evaluate("navigator.clipboard.readText()")
    assert '"name": "web"' in command or '"name":"web"' in command


def test_what_is_being_typed_is_left_alone(open_page: Open) -> None:
    """The demonstration decides something every few seconds, and the page is drawn anew."""
    page = open_page(fragment="#what-if")
    page.get_by_role("button", name="Ask with this pod").click()
    field = page.get_by_label("memory, GiB", exact=True)
    field.fill("")
    with page.expect_response("**/api/v1/whatif"):
        pass
    page.wait_for_timeout(500)
    assert field.input_value() == ""
    field.press_sequentially("64")
    field.blur()
    assert "64Gi" in page.locator("#pods").input_value()
    assert field.input_value() == "64"


def test_a_file_that_is_too_large_is_refused_by_its_size(open_page: Open) -> None:
    """Before it is sent or put into the text; what is dropped afterwards is taken."""
    page = open_page()
    page.locator("[data-cpu]").first.wait_for()
    drop(page, "pod.yaml", SMALL + "#" * (3 << 20))
    notice = page.locator(".notice.trouble")
    assert notice.inner_text().startswith("pod.yaml has 3 MiB, and at most 1 MiB are taken")
    assert page.locator("#pods").count() == 0
    drop(page, "pod.yaml", SMALL)
    page.locator(".verdict").wait_for()
    assert notice.count() == 0


def test_an_example_is_one_click_away(open_page: Open) -> None:
    """The empty view offers them."""
    page = open_page(fragment="#what-if")
    page.locator(".choices button").first.click()
    page.locator(".verdict").wait_for()


def drop(page: Any, name: str, content: str | bytes) -> None:
    """A file let go over the page, as a browser tells of it."""
    data = content.encode() if isinstance(content, str) else content
    page.evaluate(
        """([name, code]) => {
            const data = new DataTransfer();
            const bytes = Uint8Array.from(atob(code), (letter) => letter.charCodeAt(0));
            data.items.add(new File([bytes], name));
            const options = {dataTransfer: data, bubbles: true, cancelable: true};
            document.querySelector('.page').dispatchEvent(new DragEvent('drop', options));
        }""",
        [name, b64encode(data).decode()],
    )


def test_a_run_is_told_event_by_event(open_page: Open, picture: Callable[..., bytes]) -> None:
    """Decisions below the event that caused them, who lost his place, who waits; the one chosen is told."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(SMALL.replace("1Gi", '1Gi, nvidia.com/gpu: "1"'))
    page.get_by_label("as if it were idle").check()
    page.locator("summary", has_text="Events").click()
    page.get_by_label("Events").fill("stop\nstop\nstart\nrestart reboot plugins=late\n")
    page.locator(".run .effect.lost-place").wait_for()
    picture(page)
    assert page.locator(".run .event").all_inner_texts() == [
        "add default/small",
        "stop",
        "stop",
        "start",
        "restart reboot plugins=late",
    ]
    outcomes = ["admitted, aligned", "admitted again, aligned", "UnexpectedAdmissionError"]
    assert page.locator(".run .outcome").all_inner_texts() == outcomes
    assert "No effect: " in page.locator(".run ol > li").nth(2).inner_text()
    assert page.locator(".verdict .reason").inner_text() == "UnexpectedAdmissionError"
    page.locator(".run button").first.click()
    assert page.locator(".verdict .word").inner_text() == "admitted, aligned"
