"""Plans as JSON: where a job would go, the options for Docker, and the review of a script."""

import shlex
from collections.abc import Mapping

from numafit.bits import cpuset_text
from numafit.host.docker.plan import DockerPlan, Review, numafit_words
from numafit.host.grant import sentence_about
from numafit.host.place import Placed
from numafit.show.json import json_text


def docker_plan_record(plan: DockerPlan) -> dict[str, object]:
    lease = plan.lease
    return {
        "flags": plan.added.flags,
        "notes": plan.added.notes,
        "cpus": cpuset_text(plan.cpus),
        "exclusive": bool(lease.exclusive),
        "nodes": cpuset_text(lease.nodes),
        "mems": cpuset_text(lease.mems),
        "memory": lease.memory,
        "devices": lease.devices,
    }


def review_record(one: Review) -> Mapping[str, object]:
    return {
        "line": one.line.number,
        "name": one.line.run.value("name") or "",
        "image": one.line.run.image,
        "wanted": one.written.request,
        "faults": one.written.faults,
        "clashes": one.clashes,
        "refused": one.refused,
        "plan": docker_plan_record(one.plan) if one.plan is not None else None,
        "command": shlex.join(numafit_words(one.written, one.line.run)),
    }


def plan_json(placed: Placed, cpus: int, variables: Mapping[str, str]) -> str:
    value = {
        "cpus": cpuset_text(cpus),
        "exclusive": bool(placed.exclusive),
        "nodes": cpuset_text(placed.nodes),
        "mems": cpuset_text(placed.mems),
        "memory": placed.memory,
        "devices": placed.devices,
        "aligned": placed.decision.containers["lease"].affinity[1],
        "sentence": sentence_about(placed),
        "gpuReason": placed.gpu_reason,
        "environment": variables,
    }
    return json_text(value)
