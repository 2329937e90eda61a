"""A fleet in time as a page."""

import re
from html.parser import HTMLParser

from msgspec.structs import replace

from numafit.fleet.simulation.outcome import FleetMoment
from numafit.notes import Note
from numafit.show.html.fleet_run import fleet_run_page
from numafit.show.records.fleet_run import FleetRunAnswer
from tests.show.text.fleet.test_simulation import answer


class Balanced(HTMLParser):
    """Whether what is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Nothing stays open."""

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


def moment(at: float, waiting: int, memory: int = 0) -> FleetMoment:
    return FleetMoment(
        at=at,
        waiting=waiting,
        rejections=0,
        used_cpus=0.5,
        used_devices=0.25,
        stranded_cpus=3,
        stranded_memory=memory,
        stranded_gpus=1,
        largest=8,
        large=(2,),
    )


def run(*policies: str, memory: int = 0) -> FleetRunAnswer:
    whole = answer(30.0)
    (own,) = whole.rules
    moments = (moment(0.0, 0), moment(60.0, 5, memory))
    rules = tuple(
        replace(own, policy=policy, rule=rule, moments=moments, impossible=2)
        for policy in policies
        for rule in ("numafit", "most-allocated, blind")
    )
    notes = (Note("trace-gpu-shared", "trace", "3 pods <share> GPUs"),)
    return replace(whole, rules=rules, notes=notes, skipped=("t.csv:3: no",))


def test_a_page_is_whole_and_loads_nothing() -> None:
    page = fleet_run_page(run(""))
    parser = Balanced()
    parser.feed(page)
    assert parser.stack == []
    assert re.findall(r"<script|src=|href=|url\(|@import|https?:", page) == []


def test_each_rule_has_its_share_its_row_and_its_line() -> None:
    page = fleet_run_page(run(""))
    assert page.count("3 had a node at once, 0 waited for one, 1 never had one") == 2
    assert '<th scope="row">most-allocated, blind</th><td>7</td><td>2,625.1 M</td><td>30 s</td>' in page
    assert ">left waiting</th>" in page
    assert "<td>30 s</td><td>2</td><td>1</td>" in page
    assert '<path class="rule most blind"' in page
    assert "2 pods fit no empty node, and are left out." in page
    assert "Room for large pods: 4 GPUs" in page


def test_policies_have_parts_of_their_own_and_what_is_assumed_is_told() -> None:
    page = fleet_run_page(run("restricted", "single-numa-node/pod"))
    assert page.count("<section>") == 3
    assert "<h2>What becomes of pods with single-numa-node/pod</h2>" in page
    assert "3 pods &lt;share&gt; GPUs" in page
    assert "1 row was left out:\n  t.csv:3: no" in page


def test_memory_has_a_plot_where_some_is_stranded() -> None:
    assert "Memory that is stranded" not in fleet_run_page(run(""))
    assert "Memory that is stranded" in fleet_run_page(run("", memory=1 << 30))


def test_the_room_that_each_rule_leaves_is_a_row_of_a_table() -> None:
    """Large pods with how often there was room for none, the largest shape, and what is stranded."""
    page = fleet_run_page(run(""))
    assert "<h2>How much room it leaves</h2>" in page
    assert '<th scope="col">4 GPUs</th><th scope="col">largest shape</th><th scope="col">CPUs stranded</th>' in page
    row = "<td>2.2</td><td>40</td><td>12</td><td>0.2</td>"
    assert f'<th scope="row">numafit</th>{row}' in page


def test_each_picture_has_a_name() -> None:
    """Readers of screens say nothing of one without."""
    for tag in re.findall(r'<[^>]*role="img"[^>]*>', fleet_run_page(run(""))):
        assert re.search(r'aria-label="[^"]{10,}"', tag)


def test_what_large_pods_ask_for_reads_well() -> None:
    """Shares of a machine's memory are odd numbers of MiB."""
    whole = run("")
    rules = []
    for own in whole.rules:
        (left,) = own.large
        shape = replace(left.shape, requests={"cpu": "70", "memory": "294837Mi"})
        rules.append(replace(own, large=(replace(left, shape=shape),)))
    assert '<p class="note">cpu 70, memory 288Gi</p>' in fleet_run_page(replace(whole, rules=tuple(rules)))
