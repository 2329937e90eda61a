"""The words for events, one event a line: read from a file, and written for those who made events otherwise."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from numafit.decision.history.event import (
    AddPods,
    Beginning,
    Event,
    ExitContainer,
    ForgetPlugin,
    ListCapacity,
    ListDevices,
    PluginsAt,
    Reconcile,
    RemovePods,
    ResizePod,
    RestartKubelet,
    StartKubelet,
    StartPlugin,
    StopKubelet,
    StopPlugin,
)
from numafit.errors import InputError, KubeletError, meant_or_there, near_words
from numafit.machine.model import Device
from numafit.machine.sketch.devices import parse_devices
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.read.loader import ConfigSources
from numafit.workload.pod import Pod

ConfigReader = Callable[[str], ConfigSources]
"""The configuration in the file of this name."""

WORDS = {
    "add": "add POD [POD…]",
    "remove": "remove POD [POD…]",
    "reconcile": "reconcile",
    "restart": "restart [plugins=first|late|never] [config=FILE] [reboot]",
    "stop": "stop",
    "start": "start [plugins=first|late|never] [config=FILE] [reboot]",
    "devices": "devices RESOURCE ID@NUMA,!ID@NUMA,…",
    "plugin-start": "plugin-start RESOURCE ID@NUMA,…",
    "plugin-stop": "plugin-stop RESOURCE",
    "plugin-forget": "plugin-forget RESOURCE",
    "plugin-restart": "plugin-restart RESOURCE ID@NUMA,…",
    "resize": "resize POD CONTAINER requests.cpu=4 limits.memory=128Mi …",
    "exit": "exit POD CONTAINER",
    "capacity": "capacity RESOURCE=AMOUNT",
}
"""Word -> how its line is written."""
PLUGINS_AT: tuple[PluginsAt, ...] = ("first", "late", "never")


def read_events(
    text: str,
    source: str,
    pods: Sequence[Pod],
    residents: Iterable[Pod] = (),
    *,
    config: ConfigReader | None = None,
    node: str = "",
) -> list[Event]:
    """Pods that the file never adds are added first, in their order. `residents` are there already, and may go.

    A pod that comes once more after it went has a new UID, as the API server gives it; a static one keeps its own. A
    static pod may be called by the name of its manifest, to which its kubelet adds that of the `node`.
    """
    given = {pod.uid: pod for pod in pods}
    there = tuple([given.get(pod.uid, pod) for pod in residents])
    reader = _Reader(source, (*there, *pods), config, node)
    lines = _words(text)
    coming = {reader.full(name) for _, words in lines if words[:1] == ["add"] for name in words[1:]}
    reader.arrive(there)
    reader.comings |= {pod.full_name: 1 for pod in there}
    reader.arrive(pod for pod in pods if pod.name not in coming and pod.full_name not in coming)
    events = [reader.event(words, number) for number, words in lines if words]
    added = {pod.uid for event in events if isinstance(event, AddPods) for pod in event.pods}
    # One that is there and comes again has another UID then.
    added |= {pod.uid for pod in there if pod.name in coming or pod.full_name in coming}
    first = [AddPods((pod,), line=f"add {pod.full_name}") for pod in pods if pod.uid not in added]
    return [*first, *events]


def added_names(text: str) -> frozenset[str]:
    """Of pods, as the events call them."""
    return frozenset(name for _, words in _words(text) if words[:1] == ["add"] for name in words[1:])


def _words(text: str) -> list[tuple[int, list[str]]]:
    """Line by line, with its number; some editors put a mark of the encoding before the first one."""
    lines = text.removeprefix("\ufeff").splitlines()
    return [(number, line.partition("#")[0].split()) for number, line in enumerate(lines, 1)]


class _Reader:
    def __init__(self, source: str, pods: Iterable[Pod], config: ConfigReader | None, node: str) -> None:
        self.source = source
        self.config = config
        self.number = 0
        self.named: dict[str, Pod] = {}
        """Name, with and without its namespace -> the pod as it was added last."""
        self.namesakes: dict[str, list[str]] = {}
        """Name without namespace -> the full names of those who have it."""
        self.comings: dict[str, int] = {}
        """Full name -> how often the pod was added."""
        self.there: set[str] = set()
        """Full names of pods that were added and not removed."""
        for pod in pods:
            self._name(pod)
            namesakes = self.namesakes.setdefault(pod.name, [])
            if pod.full_name not in namesakes:
                namesakes.append(pod.full_name)
        self.node = node.lower()

    def _name(self, pod: Pod) -> None:
        self.named |= {pod.name: pod, pod.full_name: pod}

    def arrive(self, pods: Iterable[Pod]) -> None:
        """They are there before the first line."""
        self.there |= {pod.full_name for pod in pods}

    def event(self, words: Sequence[str], number: int) -> Event:
        self.number = number
        words = self._with_full_names(words)
        line = " ".join(words)
        match words:
            case ["add", *names] if names:
                return self._coming(names, line)
            case ["remove", *names] if names:
                return self._going(names, line)
            case ["reconcile"]:
                return Reconcile(line=line)
            case ["restart", *options]:
                return RestartKubelet(self._beginning("restart", options), line=line)
            case ["stop"]:
                return StopKubelet(line=line)
            case ["start", *options]:
                return StartKubelet(self._beginning("start", options), line=line)
            case ["devices", resource, *rest] if len(rest) <= 1:
                return ListDevices(resource, self._devices(words[0], resource, rest), line=line)
            case ["plugin-start", resource, *rest] if len(rest) <= 1:
                return StartPlugin(resource, self._devices(words[0], resource, rest), line=line)
            case ["plugin-restart", resource, *rest] if len(rest) <= 1:
                return StartPlugin(resource, self._devices(words[0], resource, rest), again=True, line=line)
            case ["plugin-stop", resource]:
                return StopPlugin(resource, line=line)
            case ["plugin-forget", resource]:
                return ForgetPlugin(resource, line=line)
            case ["resize", name, container, *amounts] if amounts:
                return self._resize(name, container, amounts, line)
            case ["exit", name, *rest] if len(rest) <= 1:
                pod = self._pod(name)
                return ExitContainer(pod, self._container(pod, rest[0] if rest else ""), line=line)
            case ["capacity", item]:
                resource, amount = self._pair(item, "capacity")
                return ListCapacity(resource, amount, line=line)
        word = words[0]
        if word in WORDS:
            raise self._error(f'"{line}" is not understood', f"write {WORDS[word]}")
        meant = " or ".join(near_words(word, list(WORDS)))
        cure = f"did you mean {meant}?" if meant else f"there are {', '.join(WORDS)}"
        raise self._error(f'"{word}" is no event', cure)

    def _with_full_names(self, words: Sequence[str]) -> list[str]:
        """A container or a resource may well be called as a pod is."""
        pods = {"add": len(words), "remove": len(words), "exit": 2, "resize": 2}.get(words[0], 1)
        return [words[0], *map(self.full, words[1:pods]), *words[pods:]]

    def full(self, name: str) -> str:
        """Of a pod: a static one may be called by the name of its manifest."""
        if not self.node or name in self.named:
            return name
        pod = self.named.get(f"{name}-{self.node}")
        return f"{name}-{self.node}" if pod is not None and pod.static else name

    def _error(self, problem: str, cure: str) -> InputError:
        return InputError(problem, source=self.source, line=self.number, cure=cure)

    def _pod(self, name: str) -> Pod:
        pod = self.named.get(name)
        if pod is None:
            there = dict.fromkeys(pod.known_name for pod in self.named.values())
            raise self._error(f"there is no pod {name}", meant_or_there(name, list(there)))
        namesakes = self.namesakes.get(name, ())
        if len(namesakes) > 1:
            raise self._error(f"{name} is {' or '.join(namesakes)}", "write the namespace, too")
        return pod

    def _coming(self, names: Sequence[str], line: str) -> AddPods:
        pods, former = [], {}
        for name in names:
            known = pod = self._pod(name)
            times = self.comings[pod.full_name] = self.comings.get(pod.full_name, 0) + 1
            if (times > 1 or pod.full_name in self.there) and not pod.static:
                pod = pod.coming_again(times)
                self._name(pod)
            if pod.full_name in self.there:
                former[pod.uid] = known.uid
            self.there.add(pod.full_name)
            pods.append(pod)
        return AddPods(tuple(pods), former, line=line)

    def _going(self, names: Sequence[str], line: str) -> RemovePods:
        pods, absent = [], []
        for pod in map(self._pod, names):
            if pod.full_name in self.there:
                self.there.remove(pod.full_name)
                pods.append(pod)
            else:
                absent.append(pod.full_name)
        return RemovePods(tuple(pods), tuple(absent), line=line)

    def _container(self, pod: Pod, name: str) -> str:
        names = [container.name for container in pod.all_containers]
        if not name and len(names) == 1:
            return names[0]
        if name not in names:
            problem = f"{pod.full_name} has no container {name}" if name else f"{pod.full_name} has several containers"
            raise self._error(problem, f"name one of {', '.join(names)}")
        return name

    def _beginning(self, word: str, options: Sequence[str]) -> Beginning:
        how = Beginning()
        given: set[str] = set()
        for option in options:
            key, equals, value = option.partition("=")
            if key in given:
                raise self._error(f"{key} stands there twice", f"write {WORDS[word]}")
            given.add(key)
            at = next((each for each in PLUGINS_AT if each == value), None)
            if option == "reboot":
                how = replace(how, reboot=True)
            elif key == "plugins" and at is not None:
                how = replace(how, plugins=at)
            elif key == "config" and equals and value and self.config is not None:
                how = replace(how, config=self._sources(value, self.config))
            else:
                raise self._error(f'"{option}" is no way to start', f"write {WORDS[word]}")
        return how

    def _sources(self, name: str, config: ConfigReader) -> ConfigSources:
        try:
            return config(name)
        except InputError as error:
            if error.field:
                raise
            raise self._error(f"{name}: {error.message}", "name a file beside this one, or from here on") from None

    def _devices(self, word: str, resource: str, rest: Sequence[str]) -> tuple[Device, ...]:
        if not rest:
            return ()
        try:
            return parse_devices([f"{resource}={rest[0]}"])
        except InputError as error:
            problem = error.message if "/" in resource else f'"{resource}" has no domain, as in lab.io/gpu'
            raise self._error(problem, f"write it like {word} lab.io/gpu g0@0,!g1@0,n0@1+2") from None

    def _resize(self, name: str, container: str, amounts: Sequence[str], line: str) -> ResizePod:
        pod = self._pod(name)
        changed: dict[str, dict[str, Quantity]] = {"requests": {}, "limits": {}}
        for item in amounts:
            key, amount = self._pair(item, "resize")
            kind, _, resource = key.partition(".")
            if kind not in changed or not resource:
                raise self._error(f'"{item}" is not understood', f"write {WORDS['resize']}")
            changed[kind][resource] = amount
        return ResizePod(pod, self._container(pod, container), changed["requests"], changed["limits"], line=line)

    def _pair(self, item: str, word: str) -> tuple[str, Quantity]:
        key, equals, text = item.partition("=")
        if not equals or not key:
            raise self._error(f'"{item}" is not understood', f"write {WORDS[word]}")
        try:
            amount = parse_quantity(text)
        except KubeletError as error:
            raise self._error(f"{key}: {error}", "write an amount like 4, 500m or 128Mi") from None
        if amount.sign < 0:
            raise self._error(f"{key}: {text} is less than nothing", "write an amount like 4, 500m or 128Mi")
        if word == "capacity" and "/" not in key:
            raise self._error(f"the kubelet itself tells how much {key} there is", "name one like lab.io/thing")
        if word == "capacity" and amount.milli() % 1000:
            raise self._error(f"{key}: {text} is no whole number", "a resource of this kind has no parts")
        return key, amount


# --- written ---------------------------------------------------------------------------------------------------------


def line_of(event: Event) -> str:
    """The line that the event was read from, or the one that says it."""
    if event.line:
        return event.line
    match event:
        case AddPods(pods):
            return " ".join(["add", *(pod.full_name for pod in pods)])
        case RemovePods(pods, absent):
            return " ".join(["remove", *(pod.full_name for pod in pods), *absent])
        case Reconcile():
            return "reconcile"
        case StopKubelet():
            return "stop"
        case StartKubelet(how):
            return f"start{_options(how)}"
        case RestartKubelet(how):
            return f"restart{_options(how)}"
        case ListDevices(resource, devices):
            return f"devices {resource} {device_list(devices)}".rstrip()
        case StartPlugin(resource, devices, again):
            return f"{'plugin-restart' if again else 'plugin-start'} {resource} {device_list(devices)}".rstrip()
        case StopPlugin(resource):
            return f"plugin-stop {resource}"
        case ForgetPlugin(resource):
            return f"plugin-forget {resource}"
        case ExitContainer(pod, container):
            return f"exit {pod.full_name} {container}"
        case ListCapacity(resource, amount):
            return f"capacity {resource}={amount}"
        case ResizePod(pod, container, requests, limits):
            amounts = (*_amounts("requests", requests), *_amounts("limits", limits))
            return " ".join(["resize", pod.full_name, container, *amounts])


def device_list(devices: Sequence[Device]) -> str:
    """As in a line: `g0@0,!g1@0,n0@1+2`."""
    return ",".join(
        f"{'' if device.healthy else '!'}{device.id}"
        + ("" if device.numa is None else f"@{'+'.join(map(str, device.numa))}")
        for device in devices
    )


def _options(how: Beginning) -> str:
    words = [f"plugins={how.plugins}"] if how.plugins != "first" else []
    if how.config is not None and how.config.file is not None:
        words.append(f"config={how.config.file.name}")
    return "".join(f" {word}" for word in (*words, *(["reboot"] if how.reboot else [])))


def _amounts(kind: str, amounts: Mapping[str, Quantity]) -> list[str]:
    return [f"{kind}.{name}={amount}" for name, amount in amounts.items()]
