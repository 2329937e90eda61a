"""How the checkup of all nodes reads."""

from numafit.fleet.look.findings import FleetCheckup, FleetFinding, KubeletGroup, NodeFinding
from numafit.show.text.fleet.checkup import fleet_checkup_text

GROUP = KubeletGroup("v1.36.4", "static", "Static", "restricted", "pod", ("a", "b", "c"))


def test_kubelets_alike_are_one_row_and_findings_are_numbered() -> None:
    finding = FleetFinding(NodeFinding("no-topology", "warning", "has none", "get one"), ("dark",))
    assert fleet_checkup_text(FleetCheckup(4, 3, (GROUP,), (finding,))) == (
        "4 nodes, of which 3 tell how they stand.\n"
        "\n"
        "NODES  RELEASE  CPU     MEMORY  TOPOLOGY    SCOPE\n"
        "    3  v1.36.4  static  Static  restricted  pod    a, b and 1 more\n"
        "\n"
        "1. warning no-topology: 1 node: dark\n"
        "   has none\n"
        "   Way out: get one"
    )


def test_a_fleet_that_is_well_is_told_so() -> None:
    assert fleet_checkup_text(FleetCheckup(3, 3, (GROUP,), ())).endswith("\n\nNothing is wrong.")
