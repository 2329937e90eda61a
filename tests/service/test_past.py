"""What jobs did over time: lines of equal length, with gaps where a job was not there."""

from numafit.host.audit.activity import JobUse
from numafit.host.audit.numastat import NodeAllocations
from numafit.service.node import Audited
from numafit.service.past import MOST_POINTS, LastHour
from numafit.show.records.past import JobPast, NodePast, PastAnswer


def use(name: str, memory: dict[int, int] | None, switches: int = 0, waiting: float | None = 0.25) -> JobUse:
    return JobUse(name, name, 10.0, 1.5, waiting, switches, 2 * switches, 1, 1, memory)


def audited(*jobs: JobUse, foreign: int = 0) -> Audited:
    return Audited({}, 10.0, jobs, allocated={0: NodeAllocations(9, 0, foreign, 0, 0, 35)})


def test_a_line_has_a_value_for_each_audit() -> None:
    """Null before a job came and where nothing was seen; those that are gone have no line."""
    past = LastHour()
    past.add(audited(use("gone", {0: 1})), "a")
    past.add(audited(use("job", {0: 100}, 120)), "b")
    past.add(audited(use("job", {1: 30}, 7, None), foreign=51), "c")
    past.add(audited(use("job", None)), "d")
    assert past.answer() == PastAnswer(
        ("a", "b", "c", "d"),
        (
            JobPast(
                "job",
                "job",
                cpus=(None, 1.5, 1.5, 1.5),
                waiting=(None, 0.25, None, 0.25),
                switches=(None, 12.0, 0.7, 0.0),
                forced=(None, 24.0, 1.4, 0.0),
                memory={0: (None, 100, 0, None), 1: (None, 0, 30, None)},
            ),
        ),
        (NodePast(0, (3.5, 3.5, 3.5, 3.5), (0.0, 0.0, 5.1, 0.0)),),
    )


def test_the_first_audit_knows_nothing_of_the_time_before() -> None:
    past = LastHour()
    past.add(Audited({"NA007": 1}), "a")
    assert past.answer() == PastAnswer((), (), ())


def test_only_the_last_audits_are_kept() -> None:
    past = LastHour()
    for number in range(MOST_POINTS + 5):
        past.add(audited(), str(number))
    assert past.answer().times == tuple(str(number) for number in range(5, MOST_POINTS + 5))
