"""Equal findings on several nodes are one."""

from numafit.fleet.look.findings import FleetFinding, NodeFinding, grouped


def test_errors_come_first_and_then_what_most_nodes_have() -> None:
    error, warning = NodeFinding("e", "error", "broken"), NodeFinding("w", "warning", "odd")
    other = NodeFinding("a", "warning", "odd, too")
    found = [("n2", warning), ("n1", warning), ("n3", error), ("n1", other), ("n1", warning)]
    assert grouped(found) == (
        FleetFinding(error, ("n3",)),
        FleetFinding(warning, ("n1", "n2")),
        FleetFinding(other, ("n1",)),
    )
