"""How the table of nodes reads."""

from numafit.fleet.look.rows import FleetRow, in_order
from numafit.fleet.look.usage import KindUsage, NodeUsage
from numafit.show.table import Screen
from numafit.show.text.fleet.top import top_text

GI = 1 << 30


def row(name: str, split: tuple[str, ...] = (), stranded: int = 0, *, schedulable: bool = True) -> FleetRow:
    usage = NodeUsage(KindUsage(126, 24, stranded), KindUsage(8, 2, 0), KindUsage(500 * GI, 100 * GI, 0), 16, 9)
    return FleetRow(name, usage, "single-numa-node", "container", split, 0, schedulable)


def test_each_node_has_a_row_and_all_have_a_sum() -> None:
    rows = in_order([row("a"), row("b", ("ml/x",), 8)], "stranded")
    assert top_text(rows, ["dark"]) == (
        "NODE     PODS    CPUS  ON ONE  GPUS  MEMORY  STRANDED  SPLIT\n"
        "b           9  24/126      16   2/8   100Gi  8 CPUs        1\n"
        "a           9  24/126      16   2/8   100Gi  -             -\n"
        "2 nodes    18  48/252      16  4/16   200Gi  8 CPUs        1\n"
        "Free of all; ON ONE: the most CPUs that are free on one NUMA node.\n"
        "\n"
        "On more NUMA nodes than they need:\n"
        "- ml/x on b\n"
        "\n"
        "Nothing is known of 1 node: dark."
    )


def test_a_terminal_of_eighty_columns_is_enough() -> None:
    text = top_text([row("gpu-node-000123", ("ml/x",), 120, schedulable=False)], screen=Screen(80))
    assert max(map(len, text.split("\n"))) <= 80
    assert "gpu-node-000123*" in text
    assert "* cordoned" in text


def test_policies_are_shown_where_there_is_room_for_them() -> None:
    lines = top_text([row("a")], wide=True).split("\n")
    assert lines[0].endswith("  SPLIT  POLICY            SCOPE      PROMISED")
    assert lines[1].endswith("      -  single-numa-node  container  -")


def test_long_lists_are_cut_with_the_number_of_the_rest() -> None:
    text = top_text([row("a", tuple(f"ml/x{number}" for number in range(14)))])
    assert "- ml/x9 on a\n- and 4 more" in text


def test_without_nodes_that_is_said() -> None:
    assert top_text([]) == "There are no nodes."


def test_orders_put_the_most_first_and_equals_by_name() -> None:
    rows = [row("c"), row("b", ("x", "y")), row("a", (), 5)]
    assert [own.name for own in in_order(rows, "stranded")] == ["a", "b", "c"]
    assert [own.name for own in in_order(rows, "split")] == ["b", "a", "c"]
    assert [own.name for own in in_order(rows, "name")] == ["a", "b", "c"]
