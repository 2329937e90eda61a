"""Traces of pods: the formats, what is assumed, and mistakes with their lines."""

import pytest

from numafit.errors import InputError
from numafit.fleet.simulation.trace import SHARED, PodTrace, read_trace

OWN = """\
arrival,run,cpu,memory,nvidia.com/gpu,name
10,60,4,8Gi,1,train
0,,500m,1Gi,,web
"""
LINES = """\
{"arrival": 10, "run": 60, "requests": {"cpu": 4, "memory": "8Gi", "nvidia.com/gpu": 1}, "name": "train"}
{"arrival": 0, "requests": {"cpu": "500m", "memory": "1Gi"}, "name": "web"}
"""
ALIBABA = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-0000,12000,16384,1,1000,,LS,Running,0,500,100
openb-pod-0001,6500,12288,2,1000,,LS,Running,40,90,
openb-pod-0002,3152,5600,1,460,,LS,Running,20,30,20
"""


def told(trace: PodTrace) -> list[tuple[float, float | None, str, dict[str, str]]]:
    return [
        (own.arrival, own.run, own.pod.name, {name: str(q) for name, q in own.pod.containers[0].requests.items()})
        for own in trace.pods
    ]


@pytest.mark.parametrize("text", [OWN, LINES], ids=["csv", "json"])
def test_our_own_formats_say_the_same(text: str) -> None:
    """By arrival; a pod without an end stays, and has limits like its requests."""
    trace = read_trace(text, "t")
    assert told(trace) == [
        (0.0, None, "web", {"cpu": "500m", "memory": "1Gi"}),
        (10.0, 60.0, "train", {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"}),
    ]
    container = trace.pods[1].pod.containers[0]
    assert container.limits == container.requests


def test_alibabas_trace_is_known_by_its_columns() -> None:
    """Pods run from when they were scheduled; a part of a GPU is a whole one, and a note says so."""
    trace = read_trace(ALIBABA, "t", gpu="example.com/gpu", whole_cpus=True)
    assert told(trace) == [
        (0.0, 400.0, "openb-pod-0000", {"cpu": "12", "memory": "16Gi", "example.com/gpu": "1"}),
        (20.0, 10.0, "openb-pod-0002", {"cpu": "4", "memory": "5600Mi", "example.com/gpu": "1"}),
        (40.0, 50.0, "openb-pod-0001", {"cpu": "7", "memory": "12Gi", "example.com/gpu": "2"}),
    ]
    (note,) = trace.notes
    assert (note.code, note.text[:34]) == (SHARED, "1 pod asks for a part of a GPU and")


def test_pods_that_arrive_faster_run_as_long() -> None:
    assert [(own.arrival, own.run) for own in read_trace(OWN, "t").faster(4).pods] == [(0, None), (2.5, 60)]


def test_only_the_first_are_taken() -> None:
    assert [own.pod.name for own in read_trace(OWN, "t").first(1).pods] == ["web"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column arrival"),
        ("arrival,cpu,memory\n", "there is no pod in it"),
        ("arrival,cpu\n1,2\n", "no column memory"),
        ("arrival,cpu,memory,colour\n", '"colour" is no column of a trace'),
        ("arrival,cpu,memory\n1,2\n", "3 fields are needed here"),
        ("arrival,cpu,memory\n1,2,3,4\n", "3 fields are needed here"),
        ("arrival,cpu,memory\nsoon,2,1Gi\n", 'arrival is "soon", and no number'),
        ("arrival,run,cpu,memory\n1,long,2,1Gi\n", 'run is "long", and no number'),
        ("arrival,cpu,memory\n-1,2,1Gi\n", "-1 is no number of seconds"),
        ("arrival,cpu,memory\nnan,2,1Gi\n", "nan is no number of seconds"),
        ("arrival,cpu,memory\n1,two,1Gi\n", '"two" is not a quantity'),
        ("arrival,cpu,memory\n1,-2,1Gi\n", "is less than nothing"),
        ('{"arrival": 1}\n', "missing required field `requests`"),
        ('{"arrival": 1, "requests": {}, "colour": 1}\n', "unknown field `colour`"),
    ],
)
def test_a_mistake_is_told(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_trace(text, "trace.csv")
    assert said in refused.value.message
    assert refused.value.source == "trace.csv"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1,2,1\rGi", "t:3: a carriage return stands inside this row (end lines as Unix or Windows does)"),
        ('1,"2,1Gi\n' + "x" * 140_000, "t:3: a field has more than 131072 characters (is a quote not closed?)"),
        ('1,"2,1Gi\nx\n"', "t:3: 3 fields are needed here (the row goes on to line 5: is a quote not closed?)"),
    ],
    ids=["carriage return", "endless quote", "long quote"],
)
def test_a_row_that_is_no_csv_is_told_with_the_line_in_which_it_begins(row: str, said: str) -> None:
    """Rows behind it are read."""
    trace = read_trace(f"arrival,cpu,memory\n0,1,1Gi\n{row}\n5,1,1Gi\n", "t")
    assert [own.arrival for own in trace.pods] == [0, 5]
    assert trace.skipped == (said,)


def test_columns_that_are_no_csv_are_told() -> None:
    """As old Macs ended lines."""
    with pytest.raises(InputError) as refused:
        read_trace("arrival,cpu,memory\r0,1,1Gi\r", "t")
    assert str(refused.value).startswith("t:1: a carriage return stands inside this row")


@pytest.mark.parametrize(
    ("requests", "said"),
    [
        ('{"nvidia.com/gpu": 0.5}', 't:2: nvidia.com/gpu: Invalid value: "500m": must be an integer'),
        (
            '{"gpu": 2}',
            't:2: gpu: Invalid value: "gpu": must be a standard resource for containers '
            "(devices have a domain, like nvidia.com/gpu)",
        ),
        ('{"hugepages-2Mi": "2Mi"}', "t:2: Forbidden: HugePages require cpu or memory"),
    ],
)
def test_what_an_api_server_would_refuse_is_a_bad_row(requests: str, said: str) -> None:
    good = '{"arrival": 0, "requests": {"cpu": 0.5, "ephemeral-storage": "1Gi", "hugepages-2Mi": "4Mi"}}'
    trace = read_trace(f'{good}\n{{"arrival": 0, "requests": {requests}}}\n', "t")
    assert len(trace.pods) == 1
    assert [own[: len(said)] for own in trace.skipped] == [said]


def test_who_says_whose_pods_are_is_believed_where_the_trace_says_nothing() -> None:
    """Alibaba's tells no owners: services are taken for pods of ReplicaSets, others for those of Jobs."""
    text = ALIBABA.replace("460,,LS", "460,,BE")
    traces = [read_trace(text, "t", owner=owner) for owner in (None, "Pod")]
    assert [{own.pod.name[-1]: own.owner for own in trace.pods} for trace in traces] == [
        {"0": "ReplicaSet", "1": "ReplicaSet", "2": "Job"},
        dict.fromkeys("021", "Pod"),
    ]
    owned = "arrival,cpu,memory,owner\n0,1,1Gi,DaemonSet\n1,1,1Gi,\n"
    assert [own.owner for own in read_trace(owned, "t", owner="Pod").pods] == ["DaemonSet", "Pod"]
    assert [own.owner for own in read_trace(owned, "t").pods] == ["DaemonSet", "Job"]
