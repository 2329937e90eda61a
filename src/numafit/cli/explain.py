"""`numafit explain`: why a pod is admitted or rejected, container by container and NUMA node by NUMA node."""

import click

from numafit.cli.explain_output import story_json, story_text
from numafit.cli.node_options import NodeOptions, load_setting, node_options
from numafit.decision.simulation import play
from numafit.decision.story import story_of
from numafit.errors import InputError


@click.command(
    epilog="""\b
Examples:
  numafit explain docs/examples
  numafit explain --machine box.yaml --kubelet kubelet.yaml --pod default/train pods/"""
)
@node_options
@click.option(
    "--pod", "pod_name", metavar="NAME", help="Only this pod (name or namespace/name); the others are played."
)
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(options: NodeOptions, pod_name: str | None, output: str) -> int:
    """Play PODS as `simulate` does, and tell the story of each decision.

    Per container: what is needed, free and held on every NUMA node, what each manager offers, what the merge makes of
    it, and the one sentence that matters. Exit status as of `simulate`.
    """
    setting = load_setting(options)
    simulation = play(setting.node, setting.ledger, setting.pods, setting.allocatable)
    decisions = [step.decision for step in simulation.steps]
    told = [d for d in decisions if pod_name is None or pod_name in (d.pod.name, f"{d.pod.namespace}/{d.pod.name}")]
    if not told:
        known = ", ".join(f"{decision.pod.namespace}/{decision.pod.name}" for decision in decisions)
        raise InputError(f"there is no pod {pod_name}", source="--pod", cure=f"there are {known}")
    stories = [(decision, story_of(setting.node, decision)) for decision in told]
    click.echo(story_json(stories) if output == "json" else story_text(stories))
    return 0 if all(decision.admitted for decision in decisions) else 1
