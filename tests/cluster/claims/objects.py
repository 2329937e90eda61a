"""Claims and slices for the tests, as an API server of 1.36 has them."""

from typing import Any

# `Any`: objects as plain values.

DRIVER = "gpu.nvidia.com"


def claim(name: str, uid: str, *devices: str, driver: str = DRIVER, namespace: str = "ml") -> dict[str, Any]:
    """Allocated, and reserved for the pod of this UID."""
    results = [{"request": "gpu", "driver": driver, "pool": "gpu-1", "device": device} for device in devices]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-of-{name}"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": driver}}]}},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": "some", "uid": uid}],
        },
    }


def slice_of(devices: dict[str, dict[str, Any]], driver: str = DRIVER) -> dict[str, Any]:
    """Device -> its attributes."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"gpu-1-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": "gpu-1",
            "pool": {"name": "gpu-1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": name, "attributes": attributes} for name, attributes in devices.items()],
        },
    }
