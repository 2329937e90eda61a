"""`kubectl numafit fit`: how many more pods of a file fit into the whole cluster, and where."""

from collections.abc import Sequence
from pathlib import Path

import click

from numafit.advice.fit import shapes_of
from numafit.cli.files import manifest_paths, read_bytes
from numafit.cli.fleet.view import Look, look_options
from numafit.cli.options.answer import ANSWERED, FAILED, NOT_SURE, check_option
from numafit.cli.terminal import progress_bar
from numafit.decision.verdicts import shape_of
from numafit.fleet.look.capacity import FleetCount, count_in_fleet
from numafit.show.records.fleet import capacity_record
from numafit.show.text.fleet.capacity import capacity_text
from numafit.workload.objects import ManifestFile
from numafit.workload.pod import Pod
from numafit.workload.reading import NodeChoice, read_files


@click.command(
    epilog="""\b
Examples:
  kubectl numafit fit -f pod.yaml
  kubectl numafit fit -f deployment.yaml --check
  kubectl get job train -o yaml | kubectl numafit fit -f -"""
)
@click.option(
    "-f",
    "--filename",
    "files",
    type=click.Path(path_type=Path, allow_dash=True),
    multiple=True,
    required=True,
    help="Manifests of pods, or of anything with a pod template; a folder, - for standard input.",
)
@look_options
@check_option("fewer fit of some shape than the files ask for")
def fit(look: Look, files: tuple[Path, ...], check: bool) -> int:
    """Count how many more pods of these files fit, node by node, and say what keeps the next one out.

    Pods are put on each node until its kubelet would reject the next, beside what is promised to it; labels, taints and
    cordons count. Nodes that stand alike are counted once. Each shape of pod is counted by itself, as if the others
    did not come.

    Exit status: 0 answered; with --check 1 if fewer fit than are asked for; 2 bad input, or a right lacks.
    """
    pods = _pods(files)
    shapes = shapes_of(pods)
    wanted = [sum(shape_of(pod) == shape_of(shape) for pod in pods) for shape in shapes]
    with look.client() as client:
        view = look.view(client)
    if look.blind(view):
        return NOT_SURE
    book = view.book
    counts: list[FleetCount] = []
    with progress_bar(len(book.fleet.nodes) * len(shapes)) as bar:
        counts.extend(count_in_fleet(book.fleet, shape, book.memory, bar.update) for shape in shapes)
    look.say(
        view,
        lambda screen: capacity_text(counts, wanted, view.unknown, screen),
        lambda: capacity_record(counts, wanted, view.unknown, view.notes),
    )
    short = any(count.total < number for count, number in zip(counts, wanted, strict=True))
    return FAILED if check and short else ANSWERED


def _pods(files: Sequence[Path]) -> tuple[Pod, ...]:
    """All of the files, whatever has become of them: it is asked how many more there can be."""
    read = [ManifestFile(str(path), read_bytes(path)) for path in manifest_paths(files)]
    return read_files(read, choice=NodeChoice(every=True, rejected=True)).pods
