"""What an account may do, as objects."""

from numafit.cluster.kube.rights import bound_role, lease_rules, rule, unbound_only

ACCOUNT = {"name": "own", "namespace": "ours"}


def test_a_role_with_a_namespace_is_bound_there_and_one_without_everywhere() -> None:
    everywhere, everywhere_bound = bound_role("a", [rule("", ["pods"], ["get"])], ACCOUNT)
    there, there_bound = bound_role("a", [], ACCOUNT, "there")
    assert [each["kind"] for each in (everywhere, everywhere_bound)] == ["ClusterRole", "ClusterRoleBinding"]
    assert [each["kind"] for each in (there, there_bound)] == ["Role", "RoleBinding"]
    assert (everywhere["metadata"], there_bound["metadata"]) == ({"name": "a"}, {"name": "a", "namespace": "there"})
    assert there_bound["roleRef"]["kind"] == "Role"
    assert there_bound["subjects"] == [{"kind": "ServiceAccount", **ACCOUNT}]


def test_a_lease_is_created_by_anybody_and_changed_by_its_name_only() -> None:
    create, change = lease_rules("own")
    assert (create["verbs"], change["resourceNames"]) == (["create"], ["own"])
    assert "resourceNames" not in create


def test_an_account_that_touches_unbound_pods_only_is_told_by_its_name() -> None:
    policy, binding = unbound_only("own", "ours", "placer")
    (condition,) = policy["spec"]["matchConditions"]
    assert "'system:serviceaccount:ours:own'" in condition["expression"]
    assert binding["spec"]["policyName"] == policy["metadata"]["name"] == "own"
