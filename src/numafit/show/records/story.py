"""A decision with its story, as JSON."""

from numafit.decision.decision import Decision
from numafit.decision.story import Story


def story_record(decision: Decision, story: Story) -> dict[str, object]:
    """The decision with its story, as JSON that msgspec encodes."""
    return {
        "pod": decision.pod.full_name,
        "admitted": decision.admitted,
        "reason": decision.reason,
        "message": decision.message,
        "story": story,
    }
