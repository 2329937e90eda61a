"""What a container believes about its CPUs and devices, against what the managers will hand it."""

import re
from collections.abc import Iterator

from numafit.advice.lint.findings import Finding, finding
from numafit.advice.lint.pod.text import ContainerText, PodText, raw_list, raw_mapping
from numafit.document import Path

_VISIBLE = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_HANDED = ("", "none", "void")
_PINNED = ("GOMP_CPU_AFFINITY", "OMP_PLACES", "KMP_AFFINITY")
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_PROCESSES = re.compile(r"--nproc[-_]per[-_]node(?:[= ]|$)(\d*)")
_BINDING = re.compile(
    r"\b(taskset\s+(?:-\S+\s+)*[\da-fx][\da-fx,-]*|numactl\s[^;&|]*(?:physcpubind|membind|cpunodebind)\S*)"
)


def environment_findings(text: PodText) -> Iterator[Finding]:
    for container in text.containers:
        for name, value, path in container.environment():
            if name in _VISIBLE:
                yield from _visible(text, container, name, value, path)
            elif name in _PINNED and re.search(r"\d", value):
                message = (
                    f'{name}="{value}" names CPUs; container "{container.name}" gets other ones each time, '
                    "and threads bound to CPUs outside its set fail or pile up"
                )
                cure = "remove it; OMP_PROC_BIND=close with OMP_PLACES=cores follows the CPUs that are handed out"
                yield finding("NF321", text.place(path), message, cure)
            elif name in _THREADS:
                yield from _threads(text, container, name, value, path)
        yield from _bound(text, container)
        yield from _shared_memory(text, container)


def is_gpu(resource: str) -> bool:
    return "gpu" in resource or resource.startswith("nvidia.com/mig-")


def _gpus(container: ContainerText) -> int:
    return sum(count for resource, count in container.devices.items() if is_gpu(resource))


def _visible(text: PodText, container: ContainerText, name: str, value: str, path: Path) -> Iterator[Finding]:
    if value in _HANDED:
        return
    count = _gpus(container)
    cure = f"remove {name}: the device plugin makes exactly the granted devices visible"
    what = f'{name}="{value}" in container "{container.name}"'
    numbers = [int(part) for part in value.split(",") if part.strip().isascii() and part.strip().isdecimal()]
    if name == "NVIDIA_VISIBLE_DEVICES" or not count:
        message = f"{what} takes GPUs past the device manager, which may have given them to somebody else"
        if not count:
            cure = "ask for the GPUs in the limits, and remove the variable"
    elif any(number >= count for number in numbers):
        message = (
            f"{what} names GPU {max(numbers)}, but the container sees only the {count} it is given, numbered from 0"
        )
    else:
        message = f"{what} does not choose GPUs: the device manager does, and the container numbers them from 0 again"
    yield finding("NF320", text.place(path), message, cure)


def _threads(text: PodText, container: ContainerText, name: str, value: str, path: Path) -> Iterator[Finding]:
    if not (value.isascii() and value.isdecimal()) or len(value) > 6:
        return
    threads = int(value)
    amounts = (container.container.requests.get("cpu"), container.container.limits.get("cpu"))
    cpus = {-(-amount.milli() // 1000) for amount in amounts if amount is not None and not amount.is_zero}
    if not cpus:
        return
    processes = _processes(container)
    shown = " or ".join(map(str, sorted(cpus)))
    if processes > 1 and threads * processes > max(cpus):
        message = f"{processes} processes with {name}={value} each make {threads * processes} threads on {shown} CPUs"
        yield finding("NF322", text.place(path), message, f"set it to {max(min(cpus) // processes, 1)}")
    elif processes <= 1 and threads not in cpus:
        message = f'{name}={value}, but container "{container.name}" has {shown} CPUs'
        yield finding("NF322", text.place(path), message, f"set it to {min(cpus)}, or remove it")


def _processes(container: ContainerText) -> int:
    words = container.words()
    for index, word in enumerate(words):
        match = _PROCESSES.search(word)
        if match is None:
            continue
        number = match.group(1) or (words[index + 1] if index + 1 < len(words) else "")
        if number.isascii() and number.isdecimal() and len(number) < 6:
            return int(number)
    return 1


def _bound(text: PodText, container: ContainerText) -> Iterator[Finding]:
    for field in ("command", "args"):
        words = [word for word in raw_list(container.raw.get(field)) if isinstance(word, str)]
        match = _BINDING.search(" ".join(words)[:10_000])
        if match is not None:
            message = f'container "{container.name}" binds itself ("{match.group(1)[:60]}") to CPUs it may not be given'
            cure = "remove it; the kubelet binds the container to what the managers chose"
            yield finding("NF321", text.place((*container.path, field)), message, cure)


def _shared_memory(text: PodText, container: ContainerText) -> Iterator[Finding]:
    count = _gpus(container)
    if container.init or count < 2 or text.spec.get("hostIPC") is True:
        return
    mounts = [raw_mapping(mount).get("mountPath") for mount in raw_list(container.raw.get("volumeMounts"))]
    if any(isinstance(path, str) and path.rstrip("/") == "/dev/shm" for path in mounts):
        return
    message = (
        f'container "{container.name}" has {count} GPUs and the 64 MiB of /dev/shm that every container gets: '
        "NCCL and data loaders need more"
    )
    cure = "mount an emptyDir with medium: Memory at /dev/shm"
    yield finding("NF323", text.place((*container.path, "name")), message, cure)
