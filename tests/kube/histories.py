"""What happens to a node, by a seed: its machine, its kubelet's configuration, pods and events.

An event is chosen when the one before it is over, from what is there then: a pod that runs can be removed or resized,
a container that runs can end. The events are those of a case (`numafit/replay/runs/steps.py`).
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from tests.kube.api import Json

MACHINES = {"numa2smt": 2, "numa4snc": 4, "epyc2": 2, "numa3memonly": 3}
"""Captured machines -> NUMA nodes. Merging hints of eight nodes takes the kubelet seconds."""

GPU, NIC, LATE = "lab.io/gpu", "lab.io/nic", "lab.io/late"
NOBODY = "nobody.io/thing"
PAGES = "hugepages-2Mi"
CPU_OPTIONS: tuple[dict[str, str], ...] = (
    {},
    {},
    {"full-pcpus-only": "true"},
    {"distribute-cpus-across-numa": "true"},
    {"strict-cpu-reservation": "true"},
    {"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"},
    {"prefer-align-cpus-by-uncorecache": "true"},
)
ALPHA_OPTIONS: tuple[dict[str, str], ...] = (
    {"align-by-socket": "true"},
    {"distribute-cpus-across-cores": "true"},
)
ALPHA = "CPUManagerPolicyAlphaOptions"
GATES = {
    "PodLevelResourceManagers": 36,
    "InPlacePodVerticalScalingExclusiveCPUs": 32,
    "InPlacePodVerticalScalingExclusiveMemory": 34,
}
"""Off by default -> the minor in which they begin."""
POLICIES = ("none", "best-effort", "restricted", "restricted", "single-numa-node", "single-numa-node")
PRIORITIES = (None, None, None, None, None, "system-node-critical", "system-cluster-critical")
CPUS = ("1", "2", "2", "3", "4", "5", "500m", "1500m")
MEMORIES = ("64Mi", "128Mi", "256Mi", "500Mi", "900Mi", "1500Mi")


class There(NamedTuple):
    """What a history looks at to choose its next event."""

    running: Sequence[str]
    """Names of pods."""
    finished: Sequence[str]
    containers: Sequence[tuple[str, str]]
    """(pod, container) that run."""
    plugins: Mapping[str, Sequence[str]]
    registered: Sequence[str]
    """Of the plugins, those that the kubelet has heard of."""


class History:
    def __init__(self, seed: int, minor: int = 36) -> None:
        self.random = Random(seed)
        self.minor = minor
        self.machine = self.random.choice(sorted(MACHINES))
        self.nodes = MACHINES[self.machine]
        self.config = self._config()
        self.pages: dict[int, int] = {}
        """Huge pages of 2 MiB by NUMA node."""
        if self.random.random() < 0.4:
            self.pages = {node: self.random.choice((0, 16, 32, 64)) for node in range(self.nodes)}
        self.seed = seed
        self.plugins: list[Json] = []
        for resource, count in ((GPU, 4), (NIC, 2)):
            if self.random.random() < 0.7:
                self.plugins.append({"resource": resource, "devices": self._devices(resource, count)})
        self.pods: dict[str, Json] = {}
        self.ended: set[tuple[str, str]] = set()
        """Containers that ended once: a second time they would wait before they start again."""
        self.resized: set[str] = set()

    def _config(self) -> Json:
        choose = self.random.choice
        cpus, memory = choose(("none", "static", "static", "static")), choose(("None", "Static", "Static"))
        config: Json = {
            "cpuManagerPolicy": cpus,
            "topologyManagerPolicy": choose(POLICIES),
            "topologyManagerScope": choose(("container", "pod")),
            "memoryManagerPolicy": memory,
        }
        gates: dict[str, bool] = {}
        if cpus == "static" and (options := choose(CPU_OPTIONS)):
            config["cpuManagerPolicyOptions"] = options
        if cpus == "static" and self.random.random() < 0.15:
            aligned = config["topologyManagerPolicy"] == "single-numa-node"
            config["cpuManagerPolicyOptions"] = choose(ALPHA_OPTIONS[1:] if aligned else ALPHA_OPTIONS)
            gates[ALPHA] = True
        gates |= {gate: True for gate, begin in GATES.items() if self.random.random() < 0.12 and begin <= self.minor}
        if gates:
            config["featureGates"] = gates
        if self.random.random() < 0.15 and config["topologyManagerPolicy"] != "none":
            config["topologyManagerPolicyOptions"] = {"prefer-closest-numa-nodes": "true"}
        if memory == "Static":
            amounts = ["256Mi"] if self.random.random() < 0.5 else ["128Mi", "128Mi"]
            config["reservedMemory"] = [
                {"numaNode": node, "limits": {"memory": amount}} for node, amount in enumerate(amounts)
            ]
        if self.random.random() < 0.2:
            config["maxPods"] = self.random.randint(4, 8)
        return config

    def _devices(self, resource: str, count: int) -> list[str]:
        letter = resource.partition("/")[2][0]
        return [self._device(f"{letter}{number}", number) for number in range(count)]

    def _device(self, name: str, number: int) -> str:
        draw = self.random.random()
        if draw < 0.08:
            return name
        if draw < 0.16:
            return f"{name}@0+1"
        return f"{name}@{number % self.nodes}"

    def next(self, there: There) -> Json:
        words = {
            "add": 12,
            "remove": 4 if there.running or there.finished else 0,
            "restart": 3,
            "devices": 2 if there.registered else 0,
            "plugin-restart": 1 if there.plugins else 0,
            "plugin-stop": 0.5 if there.registered else 0,
            "plugin-start": 1 if len(there.plugins) < 3 else 0,
            "resize": 3 if self._may_be_resized(there) else 0,
            "exit": 2 if self._may_end(there) else 0,
            "node-capacity": 0.4,
        }
        word = self.random.choices(list(words), list(words.values()))[0]
        make = {
            "add": self._add,
            "remove": self._remove,
            "restart": self._restart,
            "resize": self._resize,
            "exit": self._exit,
            "node-capacity": self._capacity,
        }
        return {"op": word, **(make[word](there) if word in make else self._plugin(word, there))}

    def _add(self, there: There) -> Json:
        return {"pod": self._new_pod()}

    def _remove(self, there: There) -> Json:
        names = sorted({*there.running, *there.finished})
        return {"pods": self.random.sample(names, min(len(names), self.random.choice((1, 1, 1, 2, 3))))}

    def _restart(self, there: There) -> Json:
        event: Json = {}
        if self.random.random() < 0.4:
            event["plugins"] = self.random.choice(("late", "never"))
        if self.random.random() < 0.25:
            event["reboot"] = True
        if self.random.random() < 0.3 and there.running:
            event["remove"] = self.random.sample(
                list(there.running), self.random.randint(1, min(2, len(there.running)))
            )
        if self.random.random() < 0.3:
            event["add"] = [self._new_pod() for _ in range(self.random.randint(1, 2))]
        if self.random.random() < 0.25:
            event["config"] = self.random.choice(
                (
                    {"maxPods": self.random.randint(2, 6)},
                    {"topologyManagerPolicy": self.random.choice(POLICIES)},
                    {"topologyManagerScope": self.random.choice(("container", "pod"))},
                    {"kubeReserved": {"cpu": "1500m", "memory": "128Mi"}},
                )
            )
        return event

    def _may_be_resized(self, there: There) -> list[str]:
        """An API server of 1.36 lets pass what that of an older kubelet would refuse."""
        return [name for name in there.running if self.minor >= 36 or "resources" not in self.pods[name]["spec"]]

    def _resize(self, there: There) -> Json:
        pod = self.random.choice(self._may_be_resized(there))
        container = self.random.choice(self.pods[pod]["spec"]["containers"])
        own = container["resources"]
        changed: Json = {}
        for kind, amounts in own.items():
            new = {name: self._other(name, amount) for name, amount in amounts.items() if name in ("cpu", "memory")}
            if new:
                changed[kind] = new
        if changed.get("requests") and changed.get("limits"):
            if own["requests"] == own["limits"]:
                changed["requests"] = dict(changed["limits"])
            else:
                changed.pop("limits")
        return {"pod": pod, "container": container["name"], "resources": changed or {"requests": {"cpu": "100m"}}}

    def _other(self, name: str, amount: str) -> str:
        if self.random.random() < 0.4:
            return amount
        return self.random.choice(("500m", "1", "2", "3", "6")) if name == "cpu" else self.random.choice(MEMORIES)

    def _may_end(self, there: There) -> list[tuple[str, str]]:
        return [own for own in there.containers if own not in self.ended]

    def _exit(self, there: There) -> Json:
        pod, container = self.random.choice(self._may_end(there))
        self.ended.add((pod, container))
        return {"pod": pod, "container": container}

    def _capacity(self, there: There) -> Json:
        return {"resource": NOBODY, "amount": self.random.randint(1, 4)}

    def _plugin(self, word: str, there: There) -> Json:
        if word == "plugin-start":
            missing = [own for own in (GPU, NIC, LATE) if own not in there.plugins]
            resource = self.random.choice(missing)
            return {"resource": resource, "devices": self._devices(resource, self.random.randint(1, 4))}
        resource = self.random.choice(sorted(there.plugins if word == "plugin-restart" else there.registered))
        if word == "plugin-stop":
            return {"resource": resource}
        devices = list(there.plugins[resource])
        for number, own in enumerate(devices):
            if self.random.random() < 0.35:
                devices[number] = own[1:] if own.startswith("!") else f"!{own}"
        if self.random.random() < 0.3 and devices:
            devices.pop(self.random.randrange(len(devices)))
        if self.random.random() < 0.3:
            letter, number = resource.partition("/")[2][0], self.random.randint(4, 9)
            if not any(f"{letter}{number}" in own for own in devices):
                devices.append(self._device(f"{letter}{number}", number))
        return {"resource": resource, "devices": devices}

    # pods

    def _new_pod(self) -> str:
        # many histories may have their pods in one namespace
        name = f"s{self.seed}p{len(self.pods):02}"
        random = self.random
        kind = random.choice(("guaranteed", "guaranteed", "guaranteed", "burstable", "best-effort"))
        count = random.choice((1, 1, 1, 2, 3))
        containers = [self._container(f"c{number}", kind) for number in range(count)]
        spec: Json = {"containers": containers}
        if random.random() < 0.25:
            init = [
                {**self._container(f"i{number}", kind), "command": ["exit-0"]}
                for number in range(random.choice((1, 2)))
            ]
            if random.random() < 0.4:
                init.insert(random.randint(0, len(init)), {**self._container("side", kind), "restartPolicy": "Always"})
            spec["initContainers"] = init
        if random.random() < 0.08:
            spec["restartPolicy"] = random.choice(("Never", "OnFailure"))
            for own in containers:
                own["command"] = ["exit-0"]
        if random.random() < 0.08:
            amounts = {"cpu": random.choice(CPUS), "memory": random.choice(MEMORIES[2:])}
            spec["resources"] = {"limits": amounts, "requests": dict(amounts)}
            for own in (*containers, *spec.get("initContainers", ())):
                own["resources"] = {}
        if (priority := random.choice(PRIORITIES)) is not None:
            spec["priorityClassName"] = priority
        self.pods[name] = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": spec,
        }
        return name

    def _container(self, name: str, kind: str) -> Json:
        random = self.random
        resources: Json = {}
        if kind == "guaranteed":
            amounts = {
                "cpu": random.choice(CPUS),
                "memory": random.choice(MEMORIES),
            }
            resources = {"limits": amounts, "requests": dict(amounts)}
        elif kind == "burstable":
            resources = {"requests": {"cpu": random.choice(("100m", "1", "2", "4")), "memory": random.choice(MEMORIES)}}
            if random.random() < 0.3:
                resources["limits"] = {"cpu": "6", "memory": "1500Mi"}
        if resources and random.random() < (0.3 if self.pages else 0.02):
            amount = random.choice(("4Mi", "16Mi", "32Mi", "64Mi"))
            for part in ("limits", "requests"):
                resources.setdefault(part, {})[PAGES] = amount
        for resource, chance in ((GPU, 0.25), (NIC, 0.15), (LATE, 0.06), (NOBODY, 0.05)):
            if random.random() < chance:
                amount = str(random.choice((1, 1, 2)))
                for part in ("limits", "requests"):
                    resources.setdefault(part, {})[resource] = amount
        return {"name": name, "image": "none:1", "imagePullPolicy": "Never", "resources": resources}
