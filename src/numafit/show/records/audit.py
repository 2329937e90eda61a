"""An audit as JSON: findings, processes and promises."""

from numafit.bits import cpuset_text
from numafit.host.audit.survey import AuditReport
from numafit.host.process.observation import Observation
from numafit.show.json import json_text


def audit_json(report: AuditReport) -> str:
    value = {
        "findings": report.findings,
        "processes": [_process(process) for process in report.processes],
        "promises": [
            {
                "name": promise.name,
                "pids": promise.pids,
                "cpus": cpuset_text(promise.cpus),
                "mems": cpuset_text(promise.mems),
                "devices": promise.devices,
                "exclusive": promise.exclusive,
            }
            for promise in report.promises
        ],
        "unseen": report.unseen,
    }
    return json_text(value)


def _process(process: Observation) -> dict[str, object]:
    """Sets as lists of ids, such as `0-3,8`; amounts in bytes; null for what was not seen."""
    pages, cpuset = process.pages, process.cpuset
    return {
        "pid": process.pid,
        "name": process.name,
        "user": process.user,
        "command": process.command,
        "cpus": _set(process.cpus),
        "mems": _set(process.mems),
        "threads": [
            {"id": thread.id, "cpus": cpuset_text(thread.cpus), "lastCpu": thread.last_cpu}
            for thread in process.threads
        ],
        "cpuset": None
        if cpuset is None
        else {
            "version": cpuset.version,
            "path": cpuset.path,
            "cpus": cpuset_text(cpuset.cpus),
            "mems": cpuset_text(cpuset.mems),
        },
        "pages": None
        if pages is None
        else {
            "bytes": {str(node): amount for node, amount in pages.nodes.items()},
            "fileBytes": {str(node): amount for node, amount in pages.file_nodes.items()},
            "policies": pages.policies,
            "mappings": pages.mappings,
        },
        "gpus": process.gpus,
        "unseen": process.unseen,
    }


def _set(mask: int | None) -> str | None:
    return None if mask is None else cpuset_text(mask)
