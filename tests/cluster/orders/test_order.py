import msgspec
import pytest

from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.orders.order import OrderMap, SwitchWish, digest_of
from numafit.cluster.switch.plan import plan_switch
from numafit.cluster.switch.words import SwitchAnswer
from numafit.errors import InputError
from tests.cluster.switch.nodes import STATIC, config, pod, question

META = ObjectMeta("numafit-switch-gpu-1", "numafit", "u")


def test_a_wish_has_the_defaults_of_the_command() -> None:
    assert OrderMap(META, {"config": "a"}).wish() == SwitchWish((), False, False, False, 600.0, 120.0, 10.0)


def test_a_plan_comes_back_as_it_was_made() -> None:
    plan = plan_switch(question(config(), config(**STATIC), [pod("a"), pod("b", owner="")]))
    order = OrderMap(META, {"status": "refused", "plan": msgspec.json.encode(plan).decode()})
    assert order.answer() == SwitchAnswer("refused", plan, plan.refusals)


def test_what_another_release_says_is_told_in_a_sentence() -> None:
    with pytest.raises(InputError, match="what the agent says is not known here"):
        OrderMap(META, {"plan": '{"node": 1}'}).answer()


def test_a_digest_is_of_one_order_and_one_plan() -> None:
    plan = plan_switch(question(config(), config(**STATIC), [pod("a")]))
    again = plan_switch(question(config(), config(**STATIC), [pod("a")]))
    other = plan_switch(question(config(), config(**STATIC), [pod("b")]))
    assert digest_of("u", plan) == digest_of("u", again)
    assert len({digest_of("u", plan), digest_of("v", plan), digest_of("u", other)}) == 3


def test_an_approval_is_of_the_plan_that_stands_there() -> None:
    assert not OrderMap(META, {}).moves
    assert not OrderMap(META, {"digest": "a", "approved": "b"}).moves
    assert OrderMap(META, {"digest": "a", "approved": "a"}).moves
    assert OrderMap(META, {"digest": "a", "undo": "true"}).moves
