"""A log beside a prediction for the same pods."""

from numafit.advice.logs.admission import Admission
from numafit.advice.logs.agreement import PodAgreement, agreements, in_log_order
from numafit.advice.logs.kubelet import LoggedKubelet
from numafit.decision.decision import Decision, Placement
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Container, Pod


def pod(name: str) -> Pod:
    return Pod(name, name, (Container("c"),))


def decided(name: str, reason: str = "", cpus: int = 0) -> Decision:
    placed = {"c": Placement((None, True), cpus=cpus)} if cpus else {}
    return Decision(pod(name), "Guaranteed", not reason, Ledger(), reason, containers=placed)


def logged(name: str, line: int, admitted: bool | None, reason: str = "", cpus: int = 0) -> Admission:
    own = {"c": cpus} if cpus else {}
    return Admission(f"default/{name}", "", line, 0, "", admitted, reason, "", False, (), own, {}, LoggedKubelet())


def test_each_pod_agrees_differs_or_is_not_told() -> None:
    """Verdict first, then the reason of a rejection, then the CPUs that the log names."""
    found = agreements(
        [
            decided("same", cpus=0b11),
            decided("cpus", cpus=0b11),
            decided("why", "TopologyAffinityError"),
            decided("other"),
            decided("open"),
            decided("absent", "SMTAlignmentError"),
            decided("quiet", "OutOfcpu"),
        ],
        {
            "default/same": logged("same", 1, True, cpus=0b11),
            "default/cpus": logged("cpus", 2, True, cpus=0b110),
            "default/why": logged("why", 3, False, "SMTAlignmentError"),
            "default/other": logged("other", 4, False, "TopologyAffinityError"),
            "default/open": logged("open", 5, None),
            "default/quiet": logged("quiet", 6, False),
        },
    )
    smt, affinity = "rejected, SMTAlignmentError", "rejected, TopologyAffinityError"
    cpus = "container c has the CPUs 1-2 in the log, predicted are 0-1"
    assert found == (
        PodAgreement("default/same", "admitted", "admitted", True),
        PodAgreement("default/cpus", "admitted", "admitted", False, (cpus,)),
        PodAgreement("default/why", affinity, smt, False, (f"the log says {smt}, predicted is {affinity}",)),
        PodAgreement(
            "default/other", "admitted", affinity, False, (f"the log says {affinity}, predicted is admitted",)
        ),
        PodAgreement("default/open", "admitted", "end not told", None),
        PodAgreement("default/absent", smt, "not in the log", None),
        PodAgreement("default/quiet", "rejected, OutOfcpu", "rejected, no reason told", True),
    )


def test_pods_are_played_as_the_log_met_them() -> None:
    """Those that it does not name come last."""
    told = {"default/b": logged("b", 3, True), "default/a": logged("a", 9, True)}
    assert [each.name for each in in_log_order([pod("x"), pod("a"), pod("b")], told)] == ["b", "a", "x"]
