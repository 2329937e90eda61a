"""Verdicts without decisions: always those of the pods played one by one."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.decision.simulation import play
from numafit.decision.verdicts import numbered_shapes, verdicts
from numafit.quantity import Quantity, parse_quantity
from numafit.workload.demands import NO_DEMANDS, Demands, HostPort
from numafit.workload.pod import CRITICAL, Pod
from tests.decision.strategies import GPU, NIC, Ordered, box, container, cpus, nodes, pod, pods, running
from tests.decision.strategies import settings as ordered

PRIORITIES = st.sampled_from([None, 0, CRITICAL, CRITICAL + 1000])


@st.composite
def crowds(draw: st.DrawFn) -> list[Pod]:
    """Up to thirty pods of up to four shapes, a Burstable one without managers among them."""
    shapes = [draw(pods(f"shape-{i}")) for i in range(draw(st.integers(1, 3)))]
    shapes.append(pod("free", container("app", {}, requests={"cpu": draw(st.sampled_from(["100m", "1"]))})))
    if draw(st.booleans()):
        shapes = [replace(each, priority=draw(PRIORITIES)) for each in shapes]
    if draw(st.booleans()):
        ports = st.sampled_from([NO_DEMANDS, Demands(ports=(HostPort(80),)), Demands(os="windows")])
        shapes = [replace(each, demands=draw(ports)) for each in shapes]
    chosen = draw(st.lists(st.sampled_from(shapes), max_size=30))
    return [replace(each, uid=f"uid-{i}", name=f"pod-{i}") for i, each in enumerate(chosen)]


OFFERS = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from(["3", "8", "24"]).map(parse_quantity),
        "memory": st.sampled_from(["4Gi", "20Gi"]).map(parse_quantity),
        "pods": st.sampled_from(["4", "20"]).map(parse_quantity),
    }
)


@settings(max_examples=200)
@given(nodes(), crowds(), OFFERS, st.sets(st.integers(0, 29)))
def test_the_verdicts_are_those_of_the_pods_played_one_by_one(
    on: Ordered, crowd: list[Pod], offer: dict[str, Quantity], wanted: set[int]
) -> None:
    node, ledger = running(on.machine, on.settings, on.plugins)
    asked = {place for place in wanted if place < len(crowd)}
    found = verdicts(node, ledger, crowd, offer, asked=asked)
    plain = [step.decision for step in play(node, ledger, crowd, offer).steps]
    assert found.end == len(plain)
    assert found.crash == bool(plain and plain[-1].panic)
    evicted = {victim.pod.uid for decision in plain for victim in decision.evicted}
    there = [i for i, decision in enumerate(plain) if decision.admitted and decision.pod.uid not in evicted]
    assert sorted(found.admitted) == there
    for place, decision in found.decisions.items():
        known = plain[place]
        assert (decision.admitted, decision.reason, decision.message) == (known.admitted, known.reason, known.message)
        assert decision.containers == known.containers
        assert [victim.pod for victim in decision.evicted] == [victim.pod for victim in known.evicted]
    assert set(found.decisions) == {place for place in asked if place < len(plain)}


@settings(max_examples=30)
@given(nodes(), crowds(), OFFERS)
def test_a_uid_that_comes_twice_is_decided_each_time(on: Ordered, crowd: list[Pod], offer: dict[str, Quantity]) -> None:
    node, ledger = running(on.machine, on.settings, on.plugins)
    crowd = [replace(each, priority=None) for each in crowd]
    twice = [*crowd, *crowd]
    found = verdicts(node, ledger, twice, offer)
    plain = [step.decision.admitted for step in play(node, ledger, twice, offer).steps]
    assert sorted(found.admitted) == [i for i, admitted in enumerate(plain) if admitted]


def test_the_order_of_resources_and_every_number_make_a_shape() -> None:
    one = pod("a", cpus("app", "2", {GPU: "1", NIC: "1"}))
    other = pod("b", cpus("app", "2", {NIC: "1", GPU: "1"}))
    more = pod("c", cpus("app", "3"))
    assert numbered_shapes([one, other, more, replace(one, uid="d", name="d")]) == (0, 1, 2, 0)


def test_ten_thousand_equal_pods_take_a_few_decisions() -> None:
    """An admission of the engine takes a tenth of a millisecond; as many as there are pods would be counted here."""
    node, ledger = running(box(2, 8), ordered(cpu="static", topology="single-numa-node"))
    crowd = [pod(f"uid-{i}", cpus("app", "2")) for i in range(10_000)]
    asked: list[str] = []

    class Listed(list[Pod]):
        def __getitem__(self, place: int) -> Pod:  # type: ignore[override]
            asked.append(f"{place}")
            return super().__getitem__(place)

    found = verdicts(node, ledger, Listed(crowd), {"pods": parse_quantity("20000")})
    assert (sorted(found.admitted), found.end, len(asked) < 20) == ([0, 1, 2], 10_000, True)


def test_of_pods_with_one_port_of_the_host_only_the_first_is_admitted() -> None:
    """The managers keep nothing of them, and yet the second is decided anew."""
    node, ledger = running(box(2, 4), ordered())
    small = pod("a", container("app", {}, requests={"cpu": "1"}))
    many = [replace(small, uid=uid, name=uid, demands=Demands(ports=(HostPort(80),))) for uid in "abcd"]
    assert verdicts(node, ledger, many, {"cpu": Quantity(8)}).admitted == {0}
