"""Where the pods of an object stand: its templates, how many pods each of them makes, and what they are called.

Kubernetes' own kinds and the usual kinds of others are known. In any other kind a pod template is looked for; how many
pods it makes is then a guess, from the number that stands nearest.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from numafit.document import DEEPEST, Path, field_text
from numafit.workload.fields import TEMPLATES, WITHOUT_PODS
from numafit.workload.pod import Unread
from numafit.workload.values import LARGEST_NUMBER, ManifestObject, ObjectPart

Numbers = tuple[tuple[int, int], ...]
"""For each number in the names of the pods the first one and how many there are."""

COUNT = "count-guessed"
ADDED = "containers-added"


class Template(NamedTuple):
    part: ObjectPart
    """With the pod's metadata and spec."""
    numbers: Numbers = ()
    role: str = ""
    """What stands between the object's name and the numbers in a pod's name."""
    doubts: tuple[Unread, ...] = ()
    found: bool = False
    """By a search in a kind that is not known."""
    container_name: str = ""
    """Of a container that has none."""
    more_fields: frozenset[str] = frozenset()
    """Those that this kind adds to the spec of a pod."""


NATIVE_GROUPS = ("", "apps", "batch", "extensions")
"""The API groups of Kubernetes' own kinds with pods."""


def group_of(value: ManifestObject, missing: str | None = None) -> str | None:
    """The API group, empty for the core; `missing` where the object has no apiVersion."""
    version = value.get("apiVersion")
    if not isinstance(version, str) or not version:
        return missing
    return version.rpartition("/")[0]


def is_native(kind: str, group: str | None) -> bool:
    """One of Kubernetes' own kinds with pods; an object without apiVersion counts as one."""
    return kind in TEMPLATES and (group is None or group in NATIVE_GROUPS)


def is_without_pods(kind: str, group: str | None) -> bool:
    return kind in WITHOUT_PODS and (group is None or "." not in group or group.endswith(".k8s.io"))


def templates_of(part: ObjectPart, kind: str, group: str | None) -> list[Template]:
    """Those of the object; none where no pod template is in it."""
    if is_native(kind, group):
        return [_native(part, kind)]
    known = _KINDS.get((group or "", kind))
    if known is not None:
        return list(known(part))
    return list(_searched(part.part("spec"), (), len(part.path)))


def _native(part: ObjectPart, kind: str) -> Template:
    template = part.part(*TEMPLATES[kind])
    if kind == "Pod":
        return Template(template)
    spec = part.part("spec")
    if kind in ("DaemonSet", "PodTemplate"):
        return Template(template, ((0, 1),))
    if kind == "CronJob":
        spec = spec.part("jobTemplate", "spec")
    if kind in ("Job", "CronJob"):
        return Template(template, ((0, _parallel(spec)),))
    first = spec.part("ordinals").number("start", 0) if kind == "StatefulSet" else 0
    return Template(template, ((first, spec.number("replicas", 1)),))


def _parallel(job: ObjectPart) -> int:
    """The pods of a Job at one time."""
    parallelism = job.number("parallelism", 1)
    return min(parallelism, job.number("completions", parallelism))


def _replicated(part: ObjectPart) -> Iterator[Template]:
    """Rollout, CloneSet and others that look like a Deployment."""
    spec = part.part("spec")
    if _is_template(spec.value.get("template")):
        first = spec.part("ordinals").number("start", 0)
        yield Template(spec.part("template"), ((first, spec.number("replicas", 1)),))


def _one_per_node(part: ObjectPart) -> Iterator[Template]:
    if _is_template(part.part("spec").value.get("template")):
        yield Template(part.part("spec", "template"), ((0, 1),))


def _job_set(part: ObjectPart) -> Iterator[Template]:
    """The pods are called SET-JOB-3-7, before the letters by chance: pod 7 of the job's replica 3."""
    for job in part.part("spec").parts("replicatedJobs"):
        spec = job.part("template", "spec")
        numbers = ((0, job.number("replicas", 1)), (0, _parallel(spec)))
        yield Template(spec.part("template"), numbers, job.text("name"))


def _leader_worker_set(part: ObjectPart) -> Iterator[Template]:
    """Leaders are called SET-GROUP, workers SET-GROUP-1 and on; without a template of their own leaders are workers."""
    spec = part.part("spec")
    group = spec.part("leaderWorkerTemplate")
    replicas, size = spec.number("replicas", 1), group.number("size", 1)
    own = group.value.get("leaderTemplate") is not None
    yield Template(group.part("leaderTemplate" if own else "workerTemplate"), ((0, replicas),))
    if size > 1:
        yield Template(group.part("workerTemplate"), ((0, replicas), (1, size - 1)))


def _training(field: str) -> Callable[[ObjectPart], Iterator[Template]]:
    """A job of Kubeflow: JOB-ROLE-0 and on, the role in small letters."""

    def templates(part: ObjectPart) -> Iterator[Template]:
        specs = part.part("spec", field)
        for role in specs.value:
            replica = specs.part(role)
            count = replica.number("replicas", 1)
            launcher = role == "Launcher" and count == 1
            yield Template(replica.part("template"), () if launcher else ((0, count),), role.lower())

    return templates


def _ray(*path: str) -> Callable[[ObjectPart], Iterator[Template]]:
    """A cluster of KubeRay: one head, and groups of workers."""

    def templates(part: ObjectPart) -> Iterator[Template]:
        spec = part.part(*path)
        if not spec.value.get("headGroupSpec"):
            return
        scaled = spec.value.get("enableInTreeAutoscaling") is True
        doubt = Unread(ADDED, "KubeRay adds a container for the autoscaler to the head, which is not played")
        yield Template(spec.part("headGroupSpec", "template"), (), "head", (doubt,) if scaled else ())
        for group in spec.parts("workerGroupSpecs"):
            least, most = group.number("minReplicas", 0), group.number("maxReplicas", LARGEST_NUMBER)
            replicas = max(least, min(group.number("replicas", 0), most))
            doubts = [Unread(ADDED, "KubeRay adds an init container that waits for the head, which is not played")]
            if scaled:
                doubts.append(Unread(COUNT, f"the autoscaler of Ray may ask for other than {replicas} replicas"))
            count = replicas * group.number("numOfHosts", 1)
            yield Template(group.part("template"), ((0, count),), f"{group.text('groupName')}-worker", tuple(doubts))

    return templates


def _volcano(part: ObjectPart) -> Iterator[Template]:
    """A job of Volcano: JOB-TASK-0 and on."""
    for index, task in enumerate(part.part("spec").parts("tasks")):
        role = task.text("name") or f"default{index}"
        yield Template(task.part("template"), ((0, task.number("replicas", 1)),), role)


def _knative(part: ObjectPart) -> Iterator[Template]:
    template = part.part("spec", "template")
    if not _is_template(template.value):
        return
    scale = template.part("metadata", "annotations").value.get("autoscaling.knative.dev/min-scale")
    count = int(scale) if isinstance(scale, str) and scale.isdecimal() and len(scale) < 10 else 1
    doubts = (
        Unread(COUNT, f"Knative scales by its load; {max(count, 1)} pods are played" if count > 1 else _ONE_KNATIVE),
        Unread(ADDED, "Knative adds the container queue-proxy, which is not played"),
    )
    yield Template(
        template,
        ((0, max(count, 1)),),
        doubts=doubts,
        container_name="user-container",
        more_fields=_KNATIVE_FIELDS,
    )


_KNATIVE_FIELDS = frozenset(
    ("containerConcurrency", "timeoutSeconds", "responseStartTimeoutSeconds", "idleTimeoutSeconds")
)
_ONE_KNATIVE = "Knative scales by its load; one pod is played"

_KINDS: dict[tuple[str, str], Callable[[ObjectPart], Iterator[Template]]] = {
    ("argoproj.io", "Rollout"): _replicated,
    ("apps.kruise.io", "CloneSet"): _replicated,
    ("apps.kruise.io", "StatefulSet"): _replicated,
    ("apps.kruise.io", "DaemonSet"): _one_per_node,
    ("apps.openshift.io", "DeploymentConfig"): _replicated,
    ("jobset.x-k8s.io", "JobSet"): _job_set,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
    ("kubeflow.org", "PyTorchJob"): _training("pytorchReplicaSpecs"),
    ("kubeflow.org", "TFJob"): _training("tfReplicaSpecs"),
    ("kubeflow.org", "MPIJob"): _training("mpiReplicaSpecs"),
    ("kubeflow.org", "XGBoostJob"): _training("xgbReplicaSpecs"),
    ("kubeflow.org", "PaddleJob"): _training("paddleReplicaSpecs"),
    ("kubeflow.org", "JAXJob"): _training("jaxReplicaSpecs"),
    ("ray.io", "RayCluster"): _ray("spec"),
    ("ray.io", "RayJob"): _ray("spec", "rayClusterSpec"),
    ("ray.io", "RayService"): _ray("spec", "rayClusterConfig"),
    ("ray.io", "RayCronJob"): _ray("spec", "jobTemplate", "rayClusterSpec"),
    ("batch.volcano.sh", "Job"): _volcano,
    ("serving.knative.dev", "Service"): _knative,
}
"""Kinds of others whose pods are known: API group and kind."""

_COUNTS = ("replicas", "parallelism", "instances", "size", "count", "numReplicas", "minReplicas")
"""Fields beside a template that say how many, in this order."""


def _is_template(value: object) -> bool:
    spec = value.get("spec") if isinstance(value, dict) else None
    containers = spec.get("containers") if isinstance(spec, dict) else None
    return isinstance(containers, list) and bool(containers)


def _searched(part: ObjectPart, above: tuple[ObjectPart, ...], root: int) -> Iterator[Template]:
    """Pod templates anywhere below: members whose name is or ends in template. `root`: how deep the object stands."""
    for name, value in part.value.items():
        if name.lower().endswith("template") and _is_template(value):
            yield _guessed(part.part(name), (part, *above), root)
        elif len(part.path) >= DEEPEST:
            continue
        elif isinstance(value, dict):
            yield from _searched(part.part(name), (part, *above), root)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, dict):
                    path: Path = (*part.path, name, index)
                    yield from _searched(ObjectPart(part.document, item, path), (part, *above), root)


def _guessed(template: ObjectPart, above: tuple[ObjectPart, ...], root: int) -> Template:
    """The number that stands nearest is taken, from the template outwards."""
    role = _role(template.path[root:])
    for part in above:
        for name in _COUNTS:
            count = part.value.get(name)
            if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= LARGEST_NUMBER:
                field = field_text((*part.path[root:], name))
                doubt = Unread(COUNT, f"numafit does not know this kind; {field} is taken for the number of its pods")
                return Template(template, ((0, count),), role, (doubt,), found=True)
    doubt = Unread(COUNT, "numafit does not know this kind; one pod of each template in it is played")
    return Template(template, ((0, 1),), role, (doubt,), found=True)


def _role(path: Path) -> str:
    """The way to the template as a part of a pod's name, so that two in one object do not meet."""
    steps = [str(step) for step in path if step not in ("spec", "template")]
    words = ["".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in step) for step in steps]
    return "-".join(words).lower().strip("-")
