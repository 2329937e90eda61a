"""The same node under every topology policy, scope and option: one configuration for each."""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from numafit.advice.propose.orders import options
from numafit.decision.stage import Stage, restarted, start_problem
from numafit.errors import KubeletError
from numafit.settings.config import KubeletConfig
from numafit.settings.validation import TOPOLOGY_POLICIES, TOPOLOGY_SCOPES


class Variant(msgspec.Struct, frozen=True):
    policy: str
    scope: str
    """Empty with the policy none, which has no scope."""
    option: str
    """`+name` or `-name` of the option that differs from the configuration given; empty if none does."""
    stage: Stage | None
    problem: str = ""
    """Why the kubelet would not start, if it would not."""
    current: bool = False


def variants(stage: Stage) -> Iterator[Variant]:
    """Policies in the order of their strictness, each with both scopes; then the given policy with each option."""
    config = stage.config
    for policy in TOPOLOGY_POLICIES:
        for scope in TOPOLOGY_SCOPES:
            if policy == "none" and scope != "container":
                continue
            changed = replace(config, topology_manager_policy=policy)
            if policy != "none":
                changed = replace(changed, topology_manager_scope=scope)
            current = policy == config.topology_manager_policy and (
                policy == "none" or scope == config.topology_manager_scope
            )
            yield _variant(stage, changed, "", current)
    for order in options(config, stage.node.settings):
        yield _variant(stage, order.config, order.option, False)


def _variant(stage: Stage, config: KubeletConfig, option: str, current: bool) -> Variant:
    policy = config.topology_manager_policy
    scope = "" if policy == "none" else config.topology_manager_scope
    try:
        changed = stage if current else restarted(stage, config)
    except KubeletError as error:
        return Variant(policy, scope, option, None, start_problem(error), current)
    return Variant(policy, scope, option, changed, current=current)
