"""The configuration of NVIDIA's device plugin: what it refuses, and what does not go with a static CPU manager."""

from collections.abc import Iterator

from numafit.advice.inspection.places import DocumentPart
from numafit.advice.lint.findings import Finding, finding
from numafit.advice.lint.pod.text import ContainerText, PodText, raw_list, raw_mapping
from numafit.document import Path

_MIG = ("none", "single", "mixed")
_LIST = ("envvar", "volume-mounts", "cdi-annotations", "cdi-cri")
_ID = ("uuid", "index")
_WHY = (
    "when the static CPU manager sets a container's CPUs, the runtime drops GPUs that it was not told of, "
    'and the container ends with "Failed to initialize NVML: Unknown Error"'
)


def plugin_findings(part: DocumentPart, static: bool | None) -> Iterator[Finding]:
    """`static`: whether the kubelet beside it has the static CPU manager; None when that is not known."""
    flags = raw_mapping(part.value.get("flags"))
    own = raw_mapping(flags.get("plugin"))
    yield from _values(part, flags, own)
    strategies = _strategies(own)
    if static is not False and own.get("passDeviceSpecs") is not True and not _only_cdi(strategies):
        path: Path = ("flags", "plugin", "passDeviceSpecs") if "passDeviceSpecs" in own else ("flags", "plugin")
        written = "false" if "passDeviceSpecs" in own else "not set, which means false"
        message = f"passDeviceSpecs is {written}: {_WHY}"
        yield finding("NF401", part.place(path), message, "set passDeviceSpecs: true, and run the plugin privileged")
    yield from _sharing(part, flags)


def daemon_findings(text: PodText, static: bool | None) -> Iterator[Finding]:
    """The plugin's own pod, where flags and variables may stand in place of a file."""
    for container in text.containers:
        image = container.raw.get("image")
        if static is False or not isinstance(image, str) or "k8s-device-plugin" not in image:
            continue
        variables = {name: value for name, value, _ in container.environment()}
        if _passes(container, variables) or "CONFIG_FILE" in variables:
            continue
        words = " ".join(container.words())
        if "--config-file" in words or "cdi-" in variables.get("DEVICE_LIST_STRATEGY", words):
            continue
        place = text.place((*container.path, "image"))
        message = f"the device plugin runs without --pass-device-specs: {_WHY}"
        yield finding("NF401", place, message, "add the argument --pass-device-specs, and run the plugin privileged")


def _passes(container: ContainerText, variables: dict[str, str]) -> bool:
    if variables.get("PASS_DEVICE_SPECS", "").lower() in ("true", "1"):
        return True
    words = container.words()
    return "--pass-device-specs" in words or "--pass-device-specs=true" in words


def _values(part: DocumentPart, flags: dict[str, object], own: dict[str, object]) -> Iterator[Finding]:
    version = part.value.get("version")
    if version != "v1":
        yield _refused(part, ("version",), f"unknown version: {version}", "write version: v1")
    mig = flags.get("migStrategy")
    if mig is not None and mig not in _MIG:
        message = f"unknown MIG strategy: {mig}"
        yield _refused(part, ("flags", "migStrategy"), message, f"write {', '.join(_MIG[:-1])} or {_MIG[-1]}")
    wrong = [each for each in _strategies(own) if each not in _LIST]
    if wrong:
        message = f"invalid --device-list-strategy option: invalid strategy: {wrong[0]}"
        yield _refused(part, ("flags", "plugin", "deviceListStrategy"), message, f"known are {', '.join(_LIST)}")
    device_id = own.get("deviceIDStrategy")
    if device_id is not None and device_id not in _ID:
        message = f"invalid --device-id-strategy option: {device_id}"
        yield _refused(part, ("flags", "plugin", "deviceIDStrategy"), message, "write uuid or index")


def _sharing(part: DocumentPart, flags: dict[str, object]) -> Iterator[Finding]:
    sharing = raw_mapping(part.value.get("sharing"))
    slicing, mps = raw_mapping(sharing.get("timeSlicing")), raw_mapping(sharing.get("mps"))
    if slicing and mps:
        message = "timeSlicing and mps exclude each other; the plugin takes mps and ignores timeSlicing"
        yield finding("NF403", part.place(("sharing", "timeSlicing"), key=True), message, "remove one of the two")
    if mps and flags.get("migStrategy") == "mixed":
        message = 'the device plugin would not start: "using --mig-strategy=mixed is not supported with MPS"'
        cure = "set migStrategy: none, or share by timeSlicing"
        yield finding("NF403", part.place(("flags", "migStrategy")), message, cure)
    for name, shared in (("timeSlicing", slicing), ("mps", mps)):
        if name in sharing:
            yield from _replicas(part, name, shared)


def _replicas(part: DocumentPart, name: str, shared: dict[str, object]) -> Iterator[Finding]:
    resources = raw_list(shared.get("resources"))
    if not resources:
        yield _refused(part, ("sharing", name), "no resources specified", "list the resources to share")
    several = False
    for index, item in enumerate(resources):
        path: Path = ("sharing", name, "resources", index)
        replicas = raw_mapping(item).get("replicas")
        if replicas is None:
            yield _refused(part, path, "no replicas specified", "add replicas: 2 or more")
        elif not isinstance(replicas, int) or replicas < 2:
            message = "number of replicas must be >= 2"
            yield _refused(part, (*path, "replicas"), message, "write 2 or more, or do not share the resource")
        else:
            several = True
    # With mps a request for more than one is refused unless the configuration says otherwise.
    strict = shared.get("failRequestsGreaterThanOne", name == "mps")
    if several and strict is not True:
        message = f"{name}: a container that asks for two shared GPUs may get the same one twice, and no more power"
        yield finding("NF404", part.place(("sharing", name), key=True), message, "set failRequestsGreaterThanOne: true")


def _refused(part: DocumentPart, path: Path, message: str, cure: str) -> Finding:
    return finding("NF402", part.place(path), f'the device plugin would not start: "{message}"', cure)


def _strategies(own: dict[str, object]) -> list[str]:
    given = own.get("deviceListStrategy")
    return [given] if isinstance(given, str) else [str(each) for each in raw_list(given)]


def _only_cdi(strategies: list[str]) -> bool:
    return bool(strategies) and all(each.startswith("cdi-") for each in strategies)
