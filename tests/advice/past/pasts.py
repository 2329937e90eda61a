"""Small logs and pods for the tests of pasts."""

from io import BytesIO

from numafit.advice.past.log import past_of_log
from numafit.advice.past.past import Past
from numafit.advice.past.signs import read_signs
from numafit.decision.history.lines import line_of
from numafit.machine.model import Device
from numafit.machine.sketch.devices import parse_devices
from numafit.workload.pod import Container, Pod
from tests.advice.logs.log_text import klog

VERSION = '"Kubelet version" kubeletVersion="v1.36.3"'


def pod(name: str, *containers: str, static: bool = False) -> Pod:
    own = tuple(Container(name=container) for container in containers or ("c",))
    return Pod(name=name, namespace="default", uid=f"uid-{name}", containers=own, static=static)


def devices(*specs: str) -> dict[str, tuple[Device, ...]]:
    found: dict[str, tuple[Device, ...]] = {}
    for device in parse_devices(list(specs)):
        found[device.resource] = (*found.get(device.resource, ()), device)
    return found


def come(*names: str, source: str = "api") -> str:
    listed = ",".join(f'"default/{name}"' for name in names)
    return f'"SyncLoop ADD" source="{source}" pods=[{listed}]'


def gone(name: str, source: str = "api") -> str:
    return f'"SyncLoop REMOVE" source="{source}" pods=["default/{name}"]'


def runs(name: str, container: str = "c", attempt: int = 1) -> str:
    uid = f"uid-{name}"
    return f'"Added Container" pod="default/{name}" podUID="{uid}" containerName="{container}" containerID="{attempt}"'


def registers(resource: str = "lab.io/gpu") -> str:
    return f'"Got registration request from device plugin with resource" resourceName="{resource}"'


def lists(total: int, healthy: int, resource: str = "lab.io/gpu") -> str:
    counts = f"totalCount={total} healthyCount={healthy}"
    return f'"Processed device updates for resource" resourceName="{resource}" {counts}'


def kubelet(*texts: str, process: int = 7) -> list[str]:
    """The lines of one process, a second apart; several are written one after the other."""
    return [klog(text, float(process * 100 + place), process) for place, text in enumerate(texts)]


def past(lines: list[str], *pods: Pod, offered: dict[str, tuple[Device, ...]] | None = None) -> Past:
    log = read_signs(BytesIO("\n".join(lines).encode() + b"\n"), "kubelet.log")
    return past_of_log(log, pods, offered or {})


def happened(lines: list[str], *pods: Pod, offered: dict[str, tuple[Device, ...]] | None = None) -> list[str]:
    return [line_of(event) for event in past(lines, *pods, offered=offered).events]


def texts(found: Past) -> list[tuple[str, str]]:
    return [(note.about, note.text) for note in found.notes]
