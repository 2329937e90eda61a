"""A pod written as a manifest: what it asks of the managers of a kubelet, so that the same can be asked again."""

import yaml

from numafit.workload.pod import Container, Pod, Resources


def pod_manifest(pod: Pod) -> str:
    """YAML. Without the UID, which is that of one pod only, and without what it wants of its node beside amounts."""
    spec: dict[str, object] = {}
    if pod.init_containers:
        spec["initContainers"] = [_container(container) for container in pod.init_containers]
    spec["containers"] = [_container(container) for container in pod.containers]
    if pod.resources is not None:
        spec["resources"] = _resources(pod.resources.requests, pod.resources.limits)
    if pod.overhead:
        spec["overhead"] = _amounts(pod.overhead)
    if pod.priority is not None:
        spec["priority"] = pod.priority
    metadata = {"name": pod.name, "namespace": pod.namespace}
    value = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return yaml.safe_dump(value, sort_keys=False, width=1000)


def _container(container: Container) -> dict[str, object]:
    value: dict[str, object] = {"name": container.name, "image": "example"}
    if container.restartable:
        value["restartPolicy"] = "Always"
    resources = _resources(container.requests, container.limits)
    return value | {"resources": resources} if resources else value


def _resources(requests: Resources, limits: Resources) -> dict[str, object]:
    # Requests that equal the limits are what the API server makes of limits alone.
    own = {name: amount for name, amount in requests.items() if limits.get(name) != amount}
    parts = {"requests": _amounts(own), "limits": _amounts(limits)}
    return {name: amounts for name, amounts in parts.items() if amounts}


def _amounts(resources: Resources) -> dict[str, str]:
    return {name: str(amount) for name, amount in resources.items()}
