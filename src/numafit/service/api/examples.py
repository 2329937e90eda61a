"""Pods to try things with, for somebody who has none at hand."""

import msgspec


class Example(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    title: str
    pods: str
    machine: str = ""
    """A name of the catalogue; left out: the machine that is shown."""
    kubelet: str = ""


def _lines(amounts: str, indent: int) -> str:
    """`cpu: "2", memory: 1Gi` as block YAML."""
    return "\n".join(" " * indent + one for one in amounts.split(", "))


def _pod(name: str, requests: str, limits: str) -> str:
    return f"""apiVersion: v1
kind: Pod
metadata:
  name: {name}
spec:
  containers:
  - name: main
    image: example
    resources:
      requests:
{_lines(requests, 8)}
      limits:
{_lines(limits, 8)}
"""


_TRAIN = 'cpu: "24", memory: 64Gi, nvidia.com/gpu: "4"'
_FIVE = 'cpu: "20", memory: 64Gi, nvidia.com/gpu: "5"'
_SMALL = 'cpu: "2", memory: 1Gi'

EXAMPLES = (
    Example("small", "Two CPUs of its own", _pod("small", _SMALL, _SMALL)),
    Example(
        "shared",
        "Burstable: runs in the shared pool",
        _pod("shared", "cpu: 500m, memory: 256Mi", "cpu: 2, memory: 512Mi"),
    ),
    Example("train", "Four GPUs of one NUMA node", _pod("train", _TRAIN, _TRAIN), machine="gpu8-128cpu"),
    Example("five-gpus", "Five GPUs, more than one NUMA node has", _pod("five", _FIVE, _FIVE), machine="gpu8-128cpu"),
    Example(
        "replicas",
        "A Deployment of four, one GPU each",
        """apiVersion: apps/v1
kind: Deployment
metadata:
  name: infer
spec:
  replicas: 4
  selector:
    matchLabels:
      app: infer
  template:
    metadata:
      labels:
        app: infer
    spec:
      containers:
      - name: model
        image: example
        resources:
          limits:
            cpu: "8"
            memory: 16Gi
            nvidia.com/gpu: "1"
""",
        machine="gpu8-128cpu",
    ),
    Example(
        "sidecar",
        "An init container, a sidecar and a main container",
        """apiVersion: v1
kind: Pod
metadata:
  name: with-sidecar
spec:
  initContainers:
  - name: fetch
    image: example
    resources:
      limits:
        cpu: "4"
        memory: 1Gi
  - name: proxy
    image: example
    restartPolicy: Always
    resources:
      limits:
        cpu: "1"
        memory: 256Mi
  containers:
  - name: main
    image: example
    resources:
      limits:
        cpu: "4"
        memory: 2Gi
""",
    ),
)
