"""Questions as an API server asks them."""

import json
from typing import Any

GATE, HOLD = "numafit.io/place", "numafit.io/hold"


def review(spec: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None, **request: Any) -> bytes:
    pod = {"metadata": metadata or {"name": "a"}, "spec": spec or {"containers": []}}
    asked = {"uid": "u1", "namespace": "work", "operation": "CREATE", "object": pod, **request}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}).encode()
