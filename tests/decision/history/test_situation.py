"""How a node stands between two events."""

from msgspec.structs import replace

from numafit.decision.history.event import Beginning, ListCapacity, ListDevices, RestartKubelet, StartPlugin, StopPlugin
from numafit.decision.history.happen import happen
from numafit.decision.history.situation import situation_of, without_plugins
from numafit.quantity import parse_quantity
from tests.decision.strategies import GPU, SEED_BOX, amounts, gpus, running, settings


def test_the_node_object_lists_healthy_devices_and_none_of_a_plugin_that_is_away() -> None:
    """Runs of 1.36.3: a device that turns unhealthy goes at once; a plugin that does not come back leaves 0."""
    node, ledger = running(SEED_BOX, settings())
    situation = situation_of(node, ledger, amounts({"cpu": "28", GPU: "3"}))
    first, *others = gpus(0, 1, 1)
    sick = ListDevices(GPU, (replace(first, healthy=False), *others))
    never = RestartKubelet(Beginning(plugins="never"))
    told = []
    for event in (sick, StopPlugin(GPU), ListCapacity("x.io/y", parse_quantity("3")), never):
        situation = happen(situation, event).situation
        told.append({name: str(amount) for name, amount in situation.node_allocatable.items()})
    assert told[:2] == [{"cpu": "28", GPU: "2"}, {"cpu": "28", GPU: "0"}]
    assert told[2] == {"cpu": "28", GPU: "0", "x.io/y": "3"}
    assert told[3][GPU] == "0"


def test_a_plugin_that_never_registered_is_as_one_that_the_machine_does_not_have() -> None:
    """It may start later."""
    node, ledger = running(SEED_BOX, settings())
    situation = without_plugins(situation_of(node, ledger, amounts({"cpu": "28"})), {GPU})
    assert GPU not in situation.plugins
    assert GPU not in situation.node_allocatable
    later = happen(situation, StartPlugin(GPU, gpus(0, 1, 1))).situation
    assert str(later.node_allocatable[GPU]) == "3"
