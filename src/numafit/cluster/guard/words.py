"""Names of the guard that stand in objects of the cluster: people search for them, so each is written here only."""

from numafit.cluster.live.words import GUARD

MEMORY = GUARD
"""The ConfigMap of what is remembered."""
ENABLED_KEY = "enabled"
"""In it: anything but "true" switches the guard off."""
UNTIL_KEY = "until"
"""In it: until when the policy may hold pods. A guard that lives puts it off, again and again."""

HOLD_POLICY, JOB_POLICY = f"{GUARD}-hold", f"{GUARD}-jobs"
"""Of the policies and their bindings; the binding of the first is the switch of the guard."""
ANCHOR = f"{GUARD}-anchor"
"""Another binding of the first policy, which applies to nothing."""

RELEASED_ANNOTATION = "numafit.io/released"
"""On a pod: when and why the gate was removed."""

REJECTED, HELD, RELEASED, ENDED = "KubeletRejected", "LoopHeld", "LoopReleased", "LoopEnded"
"""Reasons of events."""
WOULD = "WouldBe"
"""In front of such a reason where the guard only says what it would do."""
KUBELET_REJECTION = "KubeletRejection"
"""Reason of the condition DisruptionTarget that the second policy writes."""
