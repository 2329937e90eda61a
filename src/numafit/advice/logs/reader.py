"""A kubelet log as a list of admissions: which pod, which hints, what the merge came to, how it ended.

The kubelet admits one pod after the other, and in most releases several of its lines name no pod. So lines are put
together by their order: an admission begins with its own line, or where that does not exist (1.31, 1.32) with the first
hints of a pod, and takes everything up to the next. Only the end may come later and out of order, as an event or a
status patch; it names the pod.
"""

import re
from collections.abc import Callable

from numafit.advice.logs import lines
from numafit.advice.logs.admission import Arrival, Attempt, LogEvent, MergeBuilder, Rejection, rejection_of
from numafit.advice.logs.kubelet import LoggedKubelet, learned, learned_from_merge
from numafit.advice.logs.lines import LogLine
from numafit.advice.logs.values import LogValueError, parse_cpus, parse_hint, parse_hint_map
from numafit.managers.topology.policy import CONTAINER_SCOPE, POD_SCOPE

MOST_OPEN = 512
"""Admissions whose end may still come."""
MOST_KUBELETS = 1024

_PODS = re.compile(r'([^\s_"\[,(]+)_([^\s_"(]+)\(([^()]*)\)|([^\s\[\]",_/()]+/[^\s\[\]",_/()]+)')
"""`name_namespace(uid)` up to 1.24, `namespace/name` since, with quotes or without."""


class LogReader:
    """Takes the lines that matter, in order, and gives each admission when nothing more can come of it."""

    def __init__(self) -> None:
        self.kubelet = LoggedKubelet()
        self.kubelets: dict[int, LoggedKubelet] = {}
        """What is known of each process that wrote to the log, the latest 1024."""
        self._current: Attempt | None = None
        self._open: dict[str, Attempt] = {}
        self._done: list[LogEvent] = []
        self._handlers: dict[str, Callable[[LogLine], None]] = {
            lines.ADMIT_HANDLER: self._begin,
            lines.ADMISSION_CHECK: self._begin,
            lines.HINTS: self._hints,
            lines.CONTAINER_HINT: self._merged,
            lines.POD_HINT: self._merged,
            lines.BEST: self._best,
            lines.AFFINITY: self._stored,
            lines.NO_PREFERENCE: self._no_preference,
            lines.ADMIT_RESULT: self._result,
            lines.ALLOCATE: self._allocate,
            lines.ALLOCATE_START: self._allocate,
            lines.ALLOCATE_CPUS: self._allocate_cpus,
            lines.ENTRY: self._entry,
            lines.DEVICES: self._devices,
            lines.NEW_POD: self._arrived,
            lines.ADDED: self._arrived,
            lines.RECREATED: self._arrived,
        }

    def feed(self, line: LogLine) -> list[LogEvent]:
        """Values that cannot be read are passed over: a cut line costs no more than itself."""
        if line.message == lines.VERSION:
            # Nobody is left to tell how these ended.
            for attempt in list(self._open.values()):
                self._close(attempt)
        if line.process != self.kubelet.process or line.message == lines.VERSION:
            self._next_kubelet(line.process)
        self.kubelet = learned(self.kubelet, line)
        handler = self._handlers.get(line.message)
        try:
            if handler is not None:
                handler(line)
            else:
                rejection = rejection_of(line)
                if rejection is not None:
                    self._rejected(line, rejection)
        except LogValueError:
            pass
        return self._taken()

    def finish(self, *, later_lines: bool) -> list[LogEvent]:
        """The end of the log. `later_lines`: it goes on well beyond the last merge."""
        if self._current is not None and later_lines:
            self._current.followed = True
        for attempt in list(self._open.values()):
            self._close(attempt)
        self._next_kubelet(0)
        return self._taken()

    def decided_at(self) -> int:
        """The time of the last merge of the admission under way."""
        return self._current.decided_at if self._current is not None else 0

    def _next_kubelet(self, process: int) -> None:
        self._leave()
        if self.kubelet.process:
            self.kubelets[self.kubelet.process] = self.kubelet
            if len(self.kubelets) > MOST_KUBELETS:
                del self.kubelets[next(iter(self.kubelets))]
        self.kubelet = LoggedKubelet(process=process)

    def _taken(self) -> list[LogEvent]:
        done, self._done = self._done, []
        return done

    # the admission under way

    def _leave(self) -> None:
        if self._current is not None:
            self._current.followed = True
            self._learn_end(self._current)
        self._current = None

    def _start(self, pod: str, line: LogLine) -> Attempt:
        self._leave()
        attempt = Attempt(pod, line)
        self._current = attempt
        if pod:
            self._name(attempt, pod)
        return attempt

    def _name(self, attempt: Attempt, pod: str) -> None:
        earlier = self._open.pop(pod, None)
        if earlier is not None and earlier is not attempt:
            self._close(earlier)
        attempt.pod = pod
        self._open[pod] = attempt
        if len(self._open) > MOST_OPEN:
            self._close(next(iter(self._open.values())))

    def _of(self, line: LogLine) -> Attempt | None:
        """The admission under way, if the line can be its own; a line that names its pod names the admission too."""
        attempt, pod = self._current, line.fields.get("pod", "")
        if attempt is None or attempt.result is not None or attempt.rejection is not None:
            return None
        if pod and not attempt.pod:
            self._name(attempt, pod)
        if pod and pod != attempt.pod:
            return None
        uid = line.fields.get("podUID", "")
        if pod and uid and not attempt.uid:
            attempt.uid = uid
        return attempt if attempt.pod else None

    def _begin(self, line: LogLine) -> None:
        fields = line.fields
        pod = fields.get("pod", "")
        if fields.get("podName"):
            pod = f"{fields.get('podNamespace', '')}/{fields['podName']}"
        self._start(pod, line)

    def _hints(self, line: LogLine) -> None:
        container = line.fields.get("containerName", "")
        hints = parse_hint_map(line.fields.get("hints", ""))
        attempt = self._of(line)
        if attempt is None or attempt.repeats(container):
            if "pod" not in line.fields:
                return
            attempt = self._start(line.fields["pod"], line)
        if not attempt.merges or attempt.merges[-1].container != container or attempt.merges[-1].decided:
            attempt.merges.append(MergeBuilder(container))
        attempt.merges[-1].providers.append(hints)
        attempt.container = container

    def _merged(self, line: LogLine) -> None:
        attempt = self._of(line)
        if attempt is not None and attempt.merges:
            attempt.merges[-1].best = parse_hint(line.fields.get("bestHint", ""))
            self._learn(attempt.merges[-1], None)

    def _best(self, line: LogLine) -> None:
        best, container = parse_hint(line.fields.get("bestHint", "")), line.fields.get("containerName", "")
        attempt = self._of(line)
        if attempt is None or attempt.repeats(container):
            if "pod" not in line.fields:
                return
            attempt = self._start(line.fields["pod"], line)
        if not attempt.merges or attempt.merges[-1].container != container:
            attempt.merges.append(MergeBuilder(container))
        merge = attempt.merges[-1]
        merge.best, merge.decided, attempt.decided_at = best, True, line.time
        self._learn(merge, None)

    def _stored(self, line: LogLine) -> None:
        attempt = self._of(line)
        if attempt is None:
            return
        attempt.container = line.fields.get("containerName", "")
        # The CPU manager writes the same message with another key.
        if "bestHint" in line.fields and attempt.merges and attempt.merges[-1].container in ("", attempt.container):
            attempt.merges[-1].stored = True
            self._learn(attempt.merges[-1], True)

    def _learn(self, merge: MergeBuilder, admit: bool | None) -> None:
        scope = CONTAINER_SCOPE if merge.container else POD_SCOPE
        self.kubelet = learned_from_merge(self.kubelet, scope, merge.providers, merge.best, admit)

    def _learn_end(self, attempt: Attempt) -> None:
        if attempt.merge_rejected() and attempt.line.process == self.kubelet.process:
            self._learn(attempt.merges[-1], False)

    def _no_preference(self, line: LogLine) -> None:
        """Go's text of a list does not tell "no preference" from "cannot be satisfied"; this line does."""
        resource = line.fields.get("resource", "")
        if self._current is None or not self._current.merges:
            return
        providers = self._current.merges[-1].providers
        for place, own in enumerate(providers):
            if own and resource in own and not own[resource]:
                providers[place] = {**own, resource: None}

    def _allocate(self, line: LogLine) -> None:
        attempt = self._of(line)
        if attempt is not None:
            attempt.container = line.fields.get("containerName", "")

    def _allocate_cpus(self, line: LogLine) -> None:
        attempt = self._of(line)
        # A line with a pod and no container tells what the pod gets as a whole (1.36).
        if attempt is None or ("pod" in line.fields and "containerName" not in line.fields):
            return
        container = line.fields.get("containerName", attempt.container)
        if "result" in line.fields:
            attempt.cpus[container] = parse_cpus(line.fields["result"])

    def _entry(self, line: LogLine) -> None:
        """Also written for shared CPUs, by the reconciler; only what was just allocated names the pod's UID."""
        attempt = self._of(line)
        if attempt is None or attempt.uid:
            return
        own = attempt.cpus.get(line.fields.get("containerName", ""))
        if own is not None and own == parse_cpus(line.fields.get("cpuSet", "")):
            attempt.uid = line.fields.get("podUID", "")

    def _devices(self, line: LogLine) -> None:
        attempt = self._of(line)
        if attempt is None:
            return
        container = line.fields.get("containerName", attempt.container)
        text = line.fields.get("devices", "").strip("[]")
        ids = tuple(word.strip('"') for word in text.replace(",", " ").split())
        attempt.devices.setdefault(container, {})[line.fields.get("resourceName", "")] = ids

    # the end of an admission

    def _result(self, line: LogLine) -> None:
        attempt = self._of(line)
        if attempt is not None:
            attempt.result = line.fields.get("Message", "")

    def _rejected(self, line: LogLine, rejection: Rejection) -> None:
        attempt = self._open.get(rejection.pod)
        if attempt is not None and line.message in attempt.told_by:
            if rejection.uid and rejection.uid == attempt.uid:
                return
            attempt = None
        if attempt is not None and rejection.uid and attempt.uid not in ("", rejection.uid):
            attempt = None
        if attempt is not None and attempt.line.process != line.process:
            # Another kubelet has tried again, and the lines before this one are lost.
            attempt = None
        if attempt is None:
            attempt = Attempt(rejection.pod, line)
            self._name(attempt, rejection.pod)
        attempt.told_by.add(line.message)
        attempt.uid = attempt.uid or rejection.uid
        if attempt.rejection is None or not attempt.rejection.reason:
            attempt.rejection = rejection

    def _arrived(self, line: LogLine) -> None:
        fields = line.fields
        if line.message == lines.ADDED:
            pods = named_pods(fields.get("pods", ""))
        else:
            pods = [(fields.get("pod", ""), fields.get("podUID", ""))]
        for pod, uid in pods:
            attempt = self._open.get(pod)
            # An admission that is known to have failed is over when a pod of its name comes again.
            if attempt is not None and attempt.rejection is not None and line.message != lines.RECREATED:
                self._close(attempt)
            if pod:
                self._done.append(Arrival(pod, uid, line.time, line.stamp, fields.get("oldPodUID", "")))

    def _close(self, attempt: Attempt) -> None:
        if self._open.get(attempt.pod) is attempt:
            del self._open[attempt.pod]
        self._learn_end(attempt)
        self._done.append(attempt.admission(self.kubelet))


def named_pods(text: str) -> list[tuple[str, str]]:
    """`namespace/name` and UID, which is empty where it is not written."""
    pods = []
    for name, namespace, uid, whole in _PODS.findall(text):
        pods.append((whole or f"{namespace}/{name}", uid))
    return pods
