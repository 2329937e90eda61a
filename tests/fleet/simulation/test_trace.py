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
