"""Why not, in a few texts."""

from numafit.cluster.extender.texts import MOST_TEXTS, OTHERWISE, TEXTS, refused_texts, text_of
from numafit.fleet.orders import PROMISED
from numafit.fleet.places import PlaceRefusal
from numafit.managers.protocol import TOPOLOGY_AFFINITY


def test_nodes_with_one_reason_have_one_text_whatever_their_own_story_is() -> None:
    found = refused_texts(
        {
            PlaceRefusal(TOPOLOGY_AFFINITY, "7 CPUs on node 0"): ("a", "b"),
            PlaceRefusal(TOPOLOGY_AFFINITY, "3 CPUs on node 1"): ("c",),
            PlaceRefusal(PROMISED, "pod x is promised"): ("d",),
        }
    )
    assert found == {**dict.fromkeys("abc", TEXTS[TOPOLOGY_AFFINITY]), "d": TEXTS[PROMISED]}


def test_there_are_never_more_than_eight_texts_and_the_rarest_are_one() -> None:
    refusals = {
        PlaceRefusal(f"OutOf{index}", ""): [f"{index}-{name}" for name in range(20 - index)] for index in range(12)
    }
    found = refused_texts(refusals)
    assert len(set(found.values())) == MOST_TEXTS
    assert found["0-0"] == f"{OTHERWISE}: OutOf0"
    assert found["11-0"] == OTHERWISE
    assert len(found) == sum(map(len, refusals.values()))


def test_no_text_has_a_number_in_it_and_all_of_them_fit_in_an_event() -> None:
    assert not any(letter.isdigit() for text in TEXTS.values() for letter in text)
    longest = sorted(map(len, TEXTS.values()))[-MOST_TEXTS:]
    assert sum(longest) + MOST_TEXTS * len("5000 , ") + len("0/5000 nodes are available: ") < 1024
    assert text_of("OutOfcpu") == "kubelet would reject the pod: OutOfcpu"
