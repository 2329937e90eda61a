"""Nodes of one pool that are configured otherwise than most of it."""

from numafit.fleet.look.findings import grouped
from numafit.fleet.look.pools import PoolMember, pool_findings, pool_label


def test_the_label_of_a_cloud_comes_before_the_type_of_the_instance() -> None:
    labels = {"node.kubernetes.io/instance-type": "p5", "eks.amazonaws.com/nodegroup": "train"}
    assert pool_label(labels) == "pool train"
    assert pool_label({"node.kubernetes.io/instance-type": "p5"}) == "instance type p5"
    assert pool_label({}) == ""


def test_those_that_differ_from_most_of_their_pool_are_told_together() -> None:
    members = [PoolMember(f"n{number}", "pool train", {"topologyManagerPolicy": "restricted"}) for number in range(4)]
    members += [PoolMember(name, "pool train", {"topologyManagerPolicy": "none"}) for name in ("x", "y")]
    members += [PoolMember("other", "pool web", {"topologyManagerPolicy": "none"})]
    (finding,) = grouped(pool_findings(members))
    assert finding.nodes == ("x", "y")
    assert finding.finding.text == (
        "is not configured like 4 other nodes of pool train: topologyManagerPolicy is none here and restricted there"
    )


def test_a_field_that_one_of_them_does_not_set_is_told() -> None:
    members = [PoolMember("a", "p", {}), PoolMember("b", "p", {}), PoolMember("c", "p", {"maxPods": "20"})]
    (finding,) = grouped(pool_findings(members))
    assert finding.finding.text.endswith("maxPods is 20 here and not set there")
