"""What the page may see in a cluster."""

import yaml

from numafit.cluster.view.rights import RIGHTS, page_account


def test_the_page_sees_what_the_commands_see_and_changes_nothing() -> None:
    account, role, binding = yaml.safe_load_all(page_account("team"))
    assert [(own["apiGroups"], own["resources"]) for own in role["rules"]] == [
        ([own.group], [own.resource]) for own in RIGHTS
    ]
    assert {verb for own in role["rules"] for verb in own["verbs"]} == {"get", "list", "watch"}
    assert binding["subjects"] == [{"kind": "ServiceAccount", **account["metadata"]}]
