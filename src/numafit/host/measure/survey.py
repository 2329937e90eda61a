"""A survey of this machine: every pair of NUMA nodes, pairs of CPUs, each GPU from each node.

Rounds go over all pairs in turns, so that what slows the machine for a while slows none of them alone. What was
measured can be asked for at any time, also after Ctrl-C.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from numafit.amounts import size_text
from numafit.bits import mask_of
from numafit.host.measure.choice import PROC, Choice, ChosenNode
from numafit.host.measure.code import Functions, functions
from numafit.host.measure.cuda import Copies, Cuda, CudaError, CudaGpu
from numafit.host.measure.pages import NodeMemory
from numafit.host.measure.rates import Chain, lay_chain, message_time, on_cpu, read_rate
from numafit.host.measure.result import CpuPair, GpuCopy, Measured, MeasuredNode, NodePair, figure_of

SECONDS = 0.1
"""For one figure of a pair of nodes."""
MESSAGE_SECONDS = 0.002
_MESSAGE_ROUNDS = 5
_LOOK = 0.2
_BUSY = 0.1
"""Share of the CPUs of a node that others use, from which on it is said."""

Advance = Callable[[], None]


class MachineSurvey:
    """`run` once; `close` gives the memory back."""

    def __init__(self, choice: Choice, digest: str, rounds: int) -> None:
        self.choice, self.digest, self.rounds = choice, digest, rounds
        self.callers = [node for node in choice.nodes if node.cpus]
        self.targets = [node for node in choice.nodes if node.memory]
        self.read: dict[int, NodeMemory] = {}
        self.chains: dict[int, Chain] = {}
        self.samples: dict[tuple[object, ...], list[float]] = {}
        self.messages: list[CpuPair] = []
        self.gpu_names: dict[str, tuple[str, str]] = {}
        self.notes = list(choice.notes)
        self.whole = False
        found = functions()
        self.code = found if isinstance(found, Functions) else None
        if isinstance(found, str):
            self.notes.append(f"no latency: {found}")

    @property
    def steps(self) -> int:
        """How often `run` says that it got on."""
        pairs = len(self.choice.pairs) if self.code else 0
        return len(self.targets) + self.rounds * len(self.callers) * len(self.targets) + pairs + len(self.choice.gpus)

    def run(self, advance: Advance) -> None:
        self.notes += busy_nodes(self.callers)
        self._fill(advance)
        for number in range(self.rounds):
            for caller, target in self._turns(number):
                self._pair(caller, target)
                advance()
        self._check_places()
        for a, b, kind in self.choice.pairs if self.code else ():
            self._message(a, b, kind)
            advance()
        if self.choice.gpus:
            self._gpus(advance)
        self.whole = True

    def close(self) -> None:
        for memory in self.read.values():
            memory.close()
        for chain in self.chains.values():
            chain.memory.close()
        self.read, self.chains = {}, {}

    def _turns(self, number: int) -> list[tuple[ChosenNode, int]]:
        """Every pair, beginning with another one each time."""
        pairs = [(caller, target) for caller in self.callers for target in self.read]
        start = number * max(len(pairs) // max(self.rounds, 1), 1) % max(len(pairs), 1)
        return pairs[start:] + pairs[:start]

    def _fill(self, advance: Advance) -> None:
        first: NodeMemory | None = None
        for node in self.targets:
            memory = self._memory(node, self.choice.size)
            if memory is not None:
                self.read[node.id] = memory
            # Without code there is nothing that follows a chain.
            chain = self._memory(node, self.choice.chain) if self.code and memory is not None else None
            if chain is not None and self.code:
                lay_chain(chain, self.choice.chain, first)
                first = first or chain
                self.chains[node.id] = Chain(chain, self.code)
            advance()

    def _memory(self, node: ChosenNode, size: int) -> NodeMemory | None:
        memory = NodeMemory(node.id, size)
        alone = len(self.choice.nodes) == 1
        if node.cpus:
            on_cpu(node.cpus[0], lambda: memory.fill(alone))
        else:
            memory.fill(alone)
        if memory.proof:
            if memory.small:
                share = f"{100 * memory.small / size:.0f} % of {size_text(size)}"
                self.notes.append(f"node {node.id} had no huge pages for {share}: loads there may take longer")
            return memory
        memory.close()
        note = f"the memory of node {node.id} took no part: {memory.refusal}"
        if note not in self.notes:
            self.notes.append(note)
        return None

    def _check_places(self) -> None:
        """The kernel may have moved pages to those who read them; then the figures are of other memory."""
        for node, memory in list(self.read.items()):
            both = [memory, *([self.chains[node].memory] if node in self.chains else [])]
            found = {place for one in both for place in one.places()[0]}
            if found - {node}:
                self.notes.append(f"the memory of node {node} took no part: the kernel moved pages of it meanwhile")
                self.samples = {key: own for key, own in self.samples.items() if key[-1] != node}
                del self.read[node]
                memory.close()

    def _pair(self, caller: ChosenNode, target: int) -> None:
        rate = read_rate(self.read[target], caller.cpus, SECONDS)
        self._add(rate, "bandwidth", caller.id, target)
        if target in self.chains:
            self._add(self.chains[target].latency(caller.cpus[0], SECONDS), "latency", caller.id, target)

    def _add(self, sample: float, *key: object) -> None:
        self.samples.setdefault(key, []).append(sample)

    def _message(self, a: int, b: int, kind: str) -> None:
        assert self.code is not None
        times: list[float] = []
        for _ in range(_MESSAGE_ROUNDS):
            found = message_time(a, b, self.code, MESSAGE_SECONDS)
            if found is None:
                self.notes.append(f"from CPU {a} to {b} nothing was measured: one of them was kept busy by others")
                return
            times.append(found)
        # Whoever else runs on one of both can only make it longer.
        self.messages.append(CpuPair(a, b, kind, min(times)))

    def _gpus(self, advance: Advance) -> None:
        try:
            found = {gpu.bus: gpu for gpu in Cuda().gpus()}
        except CudaError as error:
            self.notes.append(f"no copies to a GPU: {error}")
            return
        for device in self.choice.gpus:
            gpu = found.get(device.bus)
            name = device.label or device.bus
            if gpu is None:
                self.notes.append(f"{name} took no part: CUDA does not show it to this process")
            else:
                self.gpu_names[device.bus] = (name, gpu.name)
                self._gpu(gpu, name)
            advance()

    def _gpu(self, gpu: CudaGpu, name: str) -> None:
        cpus = {node.id: node.cpus for node in self.callers}
        for number in range(self.rounds):
            for node, memory in self.read.items():
                try:
                    copy = partial(_copied, gpu, memory)
                    to_gpu, from_gpu = on_cpu(cpus[node][0], copy) if node in cpus else copy()
                except CudaError as error:
                    note = f"no copies between node {node} and {name}: {error}"
                    self.notes += [note] if not number else []
                    continue
                self._add(to_gpu, "to", gpu.bus, node)
                self._add(from_gpu, "from", gpu.bus, node)

    def result(self) -> Measured:
        return Measured(
            datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            self.digest,
            tuple(self._node(node) for node in self.choice.nodes),
            tuple(self._pairs()),
            tuple(self.messages),
            tuple(self._copies()),
            tuple(self.notes),
            self.whole,
        )

    def _node(self, node: ChosenNode) -> MeasuredNode:
        memory = self.read.get(node.id)
        size, proof = (memory.size, memory.proof) if memory else (0, "")
        return MeasuredNode(node.id, mask_of(node.cpus), size, proof)

    def _pairs(self) -> Iterator[NodePair]:
        for caller in self.callers:
            for target in self.read:
                rate, time_ = (figure_of(self.samples.get((what, caller.id, target), ())) for what in _FIGURES)
                if rate or time_:
                    yield NodePair(caller.id, target, rate, time_)

    def _copies(self) -> Iterator[GpuCopy]:
        for bus, (label, name) in self.gpu_names.items():
            for node in self.read:
                to_gpu = figure_of(self.samples.get(("to", bus, node), ()))
                from_gpu = figure_of(self.samples.get(("from", bus, node), ()))
                if to_gpu or from_gpu:
                    yield GpuCopy(label, bus, name, node, to_gpu, from_gpu)


_FIGURES = ("bandwidth", "latency")


def _copied(gpu: CudaGpu, memory: NodeMemory) -> tuple[float, float]:
    """The second time counts: the first one also wakes the GPU and its link."""
    copies = Copies(gpu, memory)
    try:
        copies.to_gpu(), copies.from_gpu()
        return copies.to_gpu(), copies.from_gpu()
    finally:
        copies.close()


def busy_nodes(nodes: Sequence[ChosenNode]) -> Iterator[str]:
    """A sentence for each node whose CPUs others use now."""
    before = _idle()
    time.sleep(_LOOK)
    after = _idle()
    for node in nodes:
        passed = [(after[cpu][0] - before[cpu][0], after[cpu][1] - before[cpu][1]) for cpu in node.cpus if cpu in after]
        total = sum(whole for _, whole in passed)
        busy = 1 - sum(idle for idle, _ in passed) / total if total else 0.0
        if busy >= _BUSY:
            yield f"CPUs of node {node.id} were {busy:.0%} busy with other work when it began"


def _idle() -> dict[int, tuple[int, int]]:
    """CPU -> time without work, and all time, in the kernel's ticks since boot."""
    found: dict[int, tuple[int, int]] = {}
    with suppress(OSError, ValueError):
        for line in (PROC / "stat").read_text().splitlines():
            name, *rest = line.split()
            if name.startswith("cpu") and name != "cpu":
                times = [int(word) for word in rest[:8]]
                found[int(name[3:])] = times[3] + times[4], sum(times)
    return found
