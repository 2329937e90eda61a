"""Who else works on exclusive CPUs: only who was busy counts."""

from numafit.host.audit.intruders import WaysOut, audit_intruders
from numafit.host.audit.promise import Promise
from tests.host.audit.made_up import ALL, HIGH, LOW, during, seen, use

JOB = Promise("job", (7,), cpus=LOW, exclusive=True)
FREE = WaysOut(HIGH)


def test_busy_processes_that_ran_there_differ_from_those_that_may() -> None:
    """The numbers are those of the time between two looks."""
    activity = during(2.0, {30: (use(ALL, 5, 1.9),), 40: (use(HIGH, 5, 0.5), use(LOW, 2, 1.0, id=41))})
    found = audit_intruders(JOB, [seen(activity, 30, "make"), seen(activity, 40, "cc")], activity, FREE)
    assert [(each.code, each.severity, each.others, each.sentence, each.cure) for each in found] == [
        (
            "NA007",
            "error",
            (40,),
            "1 busy process without this lease ran on its exclusive CPU 0-3: "
            "cc (40) used 50% of a CPU, seen on CPU 2, in 2 s",
            "taskset -apc 4-7 40",
        ),
        (
            "NA008",
            "info",
            (30,),
            "1 busy process without this lease may run on its exclusive CPU 0-3: make (30) used 95% of a CPU, in 2 s",
            "taskset -apc 4-7 30",
        ),
    ]


def test_who_sleeps_or_belongs_to_the_kernel_is_no_intruder() -> None:
    """An ordinary host is full of processes that may run everywhere and do nothing; a tenth of a CPU is something."""
    activity = during(
        1.0,
        {
            1: (use(ALL, 0, 0.02),),
            2: (use(ALL, 0, 1.0),),
            20: (use(HIGH, 1, 1.0),),
            30: (use(ALL, 1, 0.099),),
            31: (use(ALL, 1, 0.1),),
        },
    )
    others = [seen(activity, pid, kernel=pid == 2) for pid in activity.processes]
    assert [each.others for each in audit_intruders(JOB, others, activity, FREE)] == [(31,)]
    assert audit_intruders(Promise("shared", (7,), cpus=LOW), others, activity, FREE) == []


def test_no_cure_moves_the_first_process() -> None:
    """All that it starts would inherit its CPUs; a finding it is, for it works there."""
    activity = during(1.0, {1: (use(ALL, 0, 0.8),)})
    (found,) = audit_intruders(JOB, [seen(activity, 1, "systemd")], activity, FREE)
    assert (found.code, found.others) == ("NA007", (1,))
    assert "taskset" not in found.cure
    assert found.cure.startswith("leave process 1 where it is")


def test_a_service_is_kept_away_as_a_whole_and_another_lease_goes_home() -> None:
    """Never to CPUs that somebody else holds; where all are held nothing is left."""
    activity = during(1.0, {pid: (use(ALL, 0, 0.8),) for pid in (30, 31, 50)})
    ways = WaysOut(HIGH, homes={50: 0x30}, services={30: "build.service", 31: "build.service"})
    others = [seen(activity, pid) for pid in activity.processes]
    (found,) = audit_intruders(JOB, others, activity, ways)
    assert found.cure == "systemctl set-property --runtime build.service AllowedCPUs=4-7; taskset -apc 4-5 50"
    (found,) = audit_intruders(JOB, others[:1], activity, WaysOut(0))
    assert found.cure == "leases hold all CPUs: nothing is left for other processes"


def test_of_many_only_some_are_named() -> None:
    activity = during(1.0, {pid: (use(ALL, 0, 0.8),) for pid in range(30, 38)})
    (found,) = audit_intruders(JOB, [seen(activity, pid) for pid in activity.processes], activity, FREE)
    assert found.others == tuple(range(30, 38))
    assert " and 3 more, in 1 s" in found.sentence
    assert found.cure.count("taskset") == 5
    assert found.cure.endswith("; the same for the others")
