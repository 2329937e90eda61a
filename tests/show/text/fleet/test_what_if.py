"""How a fleet with one thing changed reads, on a terminal and as a page."""

import re

from msgspec.structs import replace

from numafit.fleet.what_if.gain import ChangeOutcome
from numafit.show.html.fleet_what_if import fleet_size_page, what_if_page
from numafit.show.records.fleet_what_if import FleetSize, FleetSizeAnswer, FleetWhatIfAnswer, RefusedChange, SizePlayed
from numafit.show.text.fleet.what_if import fleet_size_text, what_if_text
from tests.fleet.what_if.test_gain import ALIGNED, OUTCOME, changed
from tests.show.html.test_fleet_run import Balanced, moment


def answer(*changes: ChangeOutcome, refused: tuple[RefusedChange, ...] = ()) -> FleetWhatIfAnswer:
    return FleetWhatIfAnswer(
        nodes=3,
        pods=100,
        seconds=600.0,
        rule="numafit",
        limit=60.0,
        by="overdue",
        before=replace(OUTCOME, moments=(moment(0.0, 0), moment(9.0, 4))),
        changes=changes,
        refused=refused,
    )


LOOSE = changed("policy=none", overdue=2, alignment=replace(ALIGNED, cpus_together=5))
MORE = changed("nodes=+1", overdue=5)


def test_a_change_that_costs_alignment_is_told_with_the_best_that_does_not() -> None:
    text = what_if_text(answer(LOOSE, MORE, changed("scope=pod")))
    assert (
        "Most is gained by policy=none: 13 fewer pods are overdue. It costs alignment of CPUs. Of changes "
        "without such a cost, most is gained by nodes=+1: 10 fewer pods are overdue."
    ) in text
    assert "as it is      25.00%        20     30  12 s  100 s     15" in text
    assert "policy=none   50.0%   100.0%             30   2.0" in text
    assert text.endswith("It makes no difference here: scope=pod.")


def test_where_nothing_helps_that_is_said_and_so_is_what_cannot_be() -> None:
    worse = changed("numa=4", overdue=30)
    text = what_if_text(answer(worse, refused=(RefusedChange("numa=1", "no"),)))
    assert "None of these changes helps: with none of them fewer pods are overdue." in text
    assert text.endswith("Not possible: numa=1: no")


def test_where_nothing_is_given_any_more_all_alignment_is_lost() -> None:
    """As without a CPU manager: it costs all of it, and that is no change without a difference."""
    nothing = replace(ALIGNED, cpus=0, cpus_together=0, devices=0, devices_near=0)
    text = what_if_text(answer(changed("cpu-manager=none", overdue=2, alignment=nothing)))
    assert (
        "Most is gained by cpu-manager=none: 13 fewer pods are overdue. It costs alignment of CPUs (100.0% before, "
        "none now) and devices (100.0% before, none now). Of changes without such a cost, none helps."
    ) in text
    alone = what_if_text(answer(changed("cpu-manager=none", alignment=nothing)))
    assert "None of these changes helps: with none of them fewer pods are overdue. It costs alignment of CPUs" in alone
    assert "It makes no difference" not in alone


def test_pods_that_lose_their_node_are_a_cost_like_alignment() -> None:
    """Fewer are overdue, and more never have a node: the next best without such a cost is told."""
    split = changed("numa=4", overdue=2, unplaced=6, rejected_pods=23)
    text = what_if_text(answer(split, MORE))
    assert (
        "Most is gained by numa=4: 13 fewer pods are overdue. With it 1 more pod is without a node at the end and 3 "
        "more pods are rejected by kubelets. Of changes without such a cost, most is gained by nodes=+1: 10 fewer "
        "pods are overdue."
    ) in text


def test_changes_that_gain_as_much_are_named() -> None:
    text = what_if_text(answer(MORE, changed("numa=1", overdue=5, rejections=40)))
    assert "Most is gained by nodes=+1: 10 fewer pods are overdue (as many by numa=1)." in text


def size(least: int | None, *numbers: tuple[int, bool], unlike: tuple[int, ...] = ()) -> FleetSizeAnswer:
    played = tuple(SizePlayed(number, enough, 1 if enough else 30, OUTCOME) for number, enough in numbers)
    groups = {} if least is None else {"gpu": least - 1, "cpu": 1}
    fleet = FleetSize(change="", least=least, most=numbers[-1][0], groups=groups, played=played, unlike=unlike)
    return FleetSizeAnswer(
        nodes=8,
        pods=100,
        seconds=600.0,
        rule="numafit",
        limit=60.0,
        part=0.05,
        allowed=5,
        group="",
        varied=8,
        fleets=(fleet,),
    )


def test_a_number_of_nodes_is_told_with_its_neighbours() -> None:
    text = fleet_size_text(size(5, (2, False), (4, False), (5, True), (6, False), (8, True), unlike=(6,)))
    assert "as it is: 5 nodes are enough; 4 nodes are not (there are 8).\nThese are 4 of gpu, 1 of cpu." in text
    assert "More is not always better here: 6 would not be enough." in text
    assert [line.split()[0] for line in text.splitlines() if re.match(r" +\d", line)] == ["4", "5", "6"]


def test_where_no_number_is_enough_the_reason_is_told() -> None:
    text = fleet_size_text(size(None, (8, False)))
    assert "as it is: no number of nodes was enough, up to 8: 10 pods fit no empty node." in text


def test_the_pages_are_whole_and_load_nothing() -> None:
    for page in (
        what_if_page(answer(LOOSE, MORE, refused=(RefusedChange("numa=<1>", "no"),))),
        fleet_size_page(size(5, (4, False), (5, True), (6, True))),
        fleet_size_page(size(None, (8, False))),
    ):
        parser = Balanced()
        parser.feed(page)
        assert parser.stack == []
        assert re.findall(r"<script|src=|href=|url\(|@import|https?:|<1>", page) == []


def test_a_change_that_makes_no_difference_is_not_drawn_over_the_fleet_as_it_is() -> None:
    """It has its bar and its row."""
    page = what_if_page(answer(LOOSE, changed("scope=pod"), MORE))
    key = page.partition('<ul class="key">')[2].partition("</ul>")[0]
    assert re.findall(r"</svg>([^<]+)</li>", key) == ["as it is", "policy=none", "nodes=+1"]
    assert page.count("scope=pod") == 3


def test_each_change_has_its_bar_its_row_and_the_best_a_line() -> None:
    page = what_if_page(answer(LOOSE, MORE))
    assert 'aria-label="12 of 100 pods overdue"' in page
    assert '<th scope="row">nodes=+1</th><td>15.00%</td>' in page
    assert '<path class="rule first"' in page
    assert fleet_size_page(size(5, (4, False), (5, True), (6, True))).count("good-dot") >= 2
