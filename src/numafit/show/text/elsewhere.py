"""How "why not here?" reads: for each pod where it goes, and what each merge says of the node."""

from numafit.show.records.elsewhere import PodElsewhere, WhyNotAnswer
from numafit.show.table import BAD, GOOD, PLAIN, Screen


def elsewhere_text(answer: WhyNotAnswer, screen: Screen = PLAIN) -> str:
    return "\n\n".join([_pod(pod, screen) for pod in answer.pods])


def _pod(pod: PodElsewhere, screen: Screen) -> str:
    verdict = screen.paint("admitted", GOOD) if pod.admitted else screen.paint(f"rejected, {pod.reason}", BAD)
    lines = [f"{pod.pod} and NUMA node {pod.numa}: {verdict}"]
    for merge in pod.merges:
        who = f"{merge.container}: " if merge.container else ""
        lines.append(f"  {who}{merge.sentence}")
    return "\n".join([*lines, f"  {pod.sentence}"])
