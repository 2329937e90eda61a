"""Those who make pods. Each pod wants two GPUs on one NUMA node; there is room for ten, and later for sixteen."""

from tests.kube.api import Api, Json
from tests.kube.counted.fleet import RUN_SECONDS, pod_spec

SPACE = "work"
PODS = {"replicas": 8, "stateful": 4, "job": 2, "set": 2}
"""Owner -> pods that it wants. The last is a JobSet: two Jobs of one pod."""
WANTED = sum(PODS.values())
OWNER = "counted"
"""Label of a pod: for which of them it was made."""


def prepare(api: Api) -> None:
    api.post("/api/v1/namespaces", {"metadata": {"name": SPACE}})


def make_all(api: Api) -> None:
    apps, batch = (f"/apis/{group}/v1/namespaces/{SPACE}" for group in ("apps", "batch"))
    api.post(f"{apps}/replicasets", _set("replicas"))
    stateful = _set("stateful")
    stateful["spec"] |= {"serviceName": "none", "podManagementPolicy": "Parallel"}
    api.post(f"{apps}/statefulsets", stateful)
    api.post(f"{batch}/jobs", _job("job", PODS["job"]))
    workers = {"name": "workers", "replicas": PODS["set"], "template": {"spec": _job("set", 1)["spec"]}}
    kind = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    own = {**kind, "metadata": {"name": "set"}, "spec": {"replicatedJobs": [workers]}}
    api.post(f"/apis/{kind['apiVersion']}/namespaces/{SPACE}/jobsets", own)


def make_many(api: Api, count: int, at_once: int) -> None:
    """One Job of short pods of several shapes is not possible, so there are several Jobs."""
    shapes = ((4, 0), (8, 1), (8, 2), (2, 0))
    for index, (cpus, gpus) in enumerate(shapes):
        part = count // len(shapes)
        own = _job(f"many-{index}", min(part, at_once // len(shapes)), completions=part)
        template = own["spec"]["template"]
        template["metadata"]["annotations"] = {RUN_SECONDS: "0.5"}
        template["spec"] |= pod_spec(cpus, gpus)
        own["spec"]["backoffLimit"] = 1_000_000
        api.post(f"/apis/batch/v1/namespaces/{SPACE}/jobs", own)


def _set(name: str) -> Json:
    return {
        "metadata": {"name": name},
        "spec": {"replicas": PODS[name], "selector": {"matchLabels": {OWNER: name}}, "template": _template(name)},
    }


def _job(owner: str, parallel: int, completions: int = 0) -> Json:
    template = _template(owner)
    template["spec"]["restartPolicy"] = "Never"
    wanted = {"parallelism": parallel, "completions": completions or parallel, "template": template}
    return {"metadata": {"name": owner}, "spec": wanted}


def _template(owner: str) -> Json:
    return {"metadata": {"labels": {OWNER: owner}}, "spec": pod_spec(8, 2)}
