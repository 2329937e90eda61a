"""The configuration of a scheduler that asks an extender."""

import pytest
import yaml

from numafit.cluster.extender.configuration import (
    COST,
    ExtenderTls,
    SchedulerConfig,
    configuration,
    configuration_text,
)
from numafit.cluster.extender.second import second_scheduler
from numafit.cluster.live.trust import offers_of_ours_only
from numafit.errors import InputError

TLS = ExtenderTls("/ca", "/crt", "/key")


def test_all_nodes_are_looked_at_and_what_that_costs_stands_in_front() -> None:
    text = configuration_text(SchedulerConfig("http://127.0.0.1:9444/", kubeconfig="/k"))
    assert yaml.safe_load(text) == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 100,
        "profiles": [{"schedulerName": "default-scheduler"}],
        "extenders": [
            {
                "urlPrefix": "http://127.0.0.1:9444",
                "filterVerb": "filter",
                "httpTimeout": "2s",
                "nodeCacheCapable": True,
                "ignorable": True,
            }
        ],
        "clientConnection": {"kubeconfig": "/k"},
    }
    comment = [line[2:] for line in text.splitlines() if line.startswith("# ")]
    assert " ".join(comment) == COST


def test_with_https_the_scheduler_has_three_files_and_may_ask_for_an_order() -> None:
    config = SchedulerConfig("https://x:9444", TLS, 0.5, prioritize=True)
    assert configuration(config)["extenders"] == [
        {
            "urlPrefix": "https://x:9444",
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "weight": 5,
            "enableHTTPS": True,
            "tlsConfig": {"caFile": "/ca", "certFile": "/crt", "keyFile": "/key"},
            "httpTimeout": "0.5s",
            "nodeCacheCapable": True,
            "ignorable": True,
        }
    ]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (SchedulerConfig("https://x:9444"), "needs three files"),
        (SchedulerConfig("http://127.0.0.1:9444", TLS), "go with https only"),
        (SchedulerConfig("http://10.0.0.1:9444"), "everybody between it and 10.0.0.1"),
        (SchedulerConfig("localhost:9444"), "no address of an extender"),
    ],
)
def test_addresses_that_do_not_go_are_refused(config: SchedulerConfig, message: str) -> None:
    with pytest.raises(InputError, match=message):
        configuration(config)


def test_a_second_scheduler_has_its_extender_in_its_own_pod() -> None:
    objects = list(
        yaml.safe_load_all(second_scheduler("aligned", "ns", "example.com/s:1", "example.com/n:1", offer="3"))
    )
    assert [own["kind"] for own in objects] == [
        *("Namespace", "ServiceAccount", "ClusterRoleBinding", "ClusterRoleBinding", "RoleBinding", "Role"),
        *("RoleBinding", "ClusterRole", "ClusterRoleBinding"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ConfigMap", "Deployment"),
    ]
    policy, policy_binding = objects[-4:-2]
    assert policy == offers_of_ours_only("aligned")[0]
    assert policy_binding["spec"]["policyName"] == policy["metadata"]["name"] == "aligned-offers"
    config = yaml.safe_load(objects[-2]["data"]["config.yaml"])
    assert config["profiles"] == [{"schedulerName": "aligned"}]
    assert config["leaderElection"] == {
        "leaderElect": True,
        "resourceName": "aligned",
        "resourceNamespace": "ns",
    }
    scheduler, extender = objects[-1]["spec"]["template"]["spec"]["containers"]
    assert (scheduler["image"], extender["image"]) == ("example.com/s:1", "example.com/n:1")
    assert "--offer=3" in extender["command"]
    assert config["extenders"][0]["urlPrefix"] == "http://127.0.0.1:9444"
    assert "clientConnection" not in config
