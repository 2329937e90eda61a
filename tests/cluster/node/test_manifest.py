import yaml

from numafit.cluster.node.manifest import agent_rules, manifest


def test_it_has_no_more_rights_than_it_uses() -> None:
    """Each of them is used by the test with a real control plane, where RBAC is on."""
    rules = agent_rules()
    rights = {(rule["apiGroups"][0], *rule["resources"]): rule["verbs"] for rule in rules}
    assert rights == {
        ("", "nodes"): ["get", "patch"],
        ("", "pods"): ["list", "watch"],
        ("", "nodes/configz"): ["get"],
        ("topology.numafit.io", "nodetopologies"): ["create", "patch", "list", "watch"],
        ("resource.k8s.io", "resourceclaims"): ["get"],
        ("resource.k8s.io", "resourceslices"): ["list"],
    }


def test_the_host_is_mounted_read_only() -> None:
    objects = {each["kind"]: each for each in yaml.safe_load_all(manifest("team", "image:1", resource_topology=True))}
    assert list(objects) == [
        *("CustomResourceDefinition", "Namespace", "ServiceAccount"),
        *("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "DaemonSet"),
    ]
    assert {objects[kind]["metadata"]["namespace"] for kind in ("Role", "RoleBinding")} == {"default"}
    spec = objects["DaemonSet"]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    of_host = {volume["name"] for volume in spec["volumes"] if "hostPath" in volume}
    assert of_host == {mount["name"] for mount in container["volumeMounts"] if mount.get("readOnly")}
    assert container["command"][-1] == "--resource-topology"
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert objects["DaemonSet"]["metadata"]["namespace"] == "team"


def test_all_that_it_writes_by_the_name_of_a_node_is_held_to_its_own() -> None:
    for more in (False, True):
        objects = {
            each["kind"]: each for each in yaml.safe_load_all(manifest("team", "image:1", resource_topology=more))
        }
        rules = objects["ValidatingAdmissionPolicy"]["spec"]["matchConstraints"]["resourceRules"]
        held = {rule["resources"][0] for rule in rules}
        written = {
            rule["resources"][0]
            for rule in agent_rules(resource_topology=more)
            if {"create", "patch"} & {*rule["verbs"]}
        }
        assert held == written


def test_only_an_agent_that_may_switch_its_node_is_root_there() -> None:
    texts = list(yaml.safe_load_all(manifest("team", "image:1", orders="numafit-switch-")))
    objects = {(each["kind"], each["metadata"]["name"]): each for each in texts}
    orders = "numafit-node-agent-orders"
    (rule,) = objects["Role", orders]["rules"]
    assert rule == {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "patch"]}
    assert {objects[kind, orders]["metadata"]["namespace"] for kind in ("Role", "RoleBinding")} == {"team"}
    eviction = {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}
    assert objects["ClusterRole", "numafit-node-agent"]["rules"][-1] == eviction
    spec = texts[-1]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert (spec["hostPID"], container["securityContext"]["privileged"]) == (True, True)
    assert container["command"][-2:] == ["--allow-switch", "--namespace=team"]
    written = [own["mountPath"] for own in container["volumeMounts"] if not own.get("readOnly")]
    assert written == ["/host/var/lib/kubelet", "/recordings", "/tmp"]
    plain = manifest("team", "image:1")
    assert not any(word in plain for word in ("hostPID", "privileged: true", "pods/eviction", "configmaps"))
