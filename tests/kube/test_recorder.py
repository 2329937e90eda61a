"""What the log of a kubelet tells to whoever records it."""

from tests.kube.recorder import CRASH_LINES, _are_overtaken, _last_words

LISTED = b'I1116 manager.go:319] "Processed device updates for resource" resourceName="lab.io/%s" totalCount=2\n'
PODS = b'I1116 kubelet.go:2709] "SyncLoop ADD" source="api" pods=["default/a"]\n'


def test_pods_that_come_before_the_devices_of_a_plugin_are_seen() -> None:
    """Seen live on a machine under load, seed 2010."""
    first = LISTED % b"gpu" + PODS + LISTED % b"nic"
    assert _are_overtaken(first, ["lab.io/gpu", "lab.io/nic"])
    assert not _are_overtaken(first, ["lab.io/gpu"])
    assert not _are_overtaken(LISTED % b"gpu", ["lab.io/nic"]), "no pod came"


def test_a_crash_is_told_from_its_reason_on() -> None:
    """A long way through the code may follow it, seed 2005."""
    way = [f"line {number}" for number in range(3 * CRASH_LINES)]
    told = _last_words(["before", "panic: no memory", *way]).splitlines()
    assert (told[0], len(told)) == ("panic: no memory", CRASH_LINES)
    assert _last_words(["a", "exit status 1"]) == "a\nexit status 1"
