"""Who makes a rejected pod again, and how soon: the back-off of each kind of controller.

Seen with controllers of 1.36.4 and a kubelet that rejects whatever comes: a ReplicaSet made 37 pods in a second and a
StatefulSet 27, for neither waits; how many it is elsewhere depends on the speed of the control plane. A DaemonSet waits
for 1 second and doubles that up to 15 minutes. A Job waits for 10 seconds, doubles that up to 10 minutes, and has
failed when a rejection is its seventh (`backoffLimit` is 6 by default). A pod that nobody owns is not made again.
"""

import msgspec


class Controller(msgspec.Struct, frozen=True):
    kind: str
    first: float
    """Seconds from the first rejection to the next pod."""
    longest: float
    """Each time it is twice as long, up to this."""
    most: int | None = None
    """So many pods are made again; None: without end."""

    def again_after(self, rejections: int) -> float | None:
        """Seconds from that rejection, the first is 1; None: it is given up."""
        if self.most is not None and rejections > self.most:
            return None
        # Beyond that it is the longest anyway, and a float has an end.
        return min(self.first * (1 << min(rejections - 1, 60)), self.longest)

    @property
    def storms(self) -> bool:
        """It makes pod after pod and never waits longer."""
        return self.first == self.longest and self.most is None


CONTROLLERS = {
    own.kind: own
    for own in (
        Controller("ReplicaSet", 1 / 37, 1 / 37),
        Controller("StatefulSet", 1 / 27, 1 / 27),
        Controller("DaemonSet", 1.0, 900.0),
        Controller("Job", 10.0, 600.0, 6),
        Controller("Pod", 0.0, 0.0, 0),
    )
}
USUAL = "Job"
"""Of pods of which a trace does not say it."""
