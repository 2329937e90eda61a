"""`numafit kubelet-sim`: nodes of a cluster without hardware."""

import asyncio
from pathlib import Path

import click
from msgspec.structs import replace

from numafit.cli.options.live import ClusterOptions, cluster_options, new_access
from numafit.cli.warning import warn
from numafit.errors import InputError, some_of


@click.command(
    "kubelet-sim",
    epilog="""\b
Examples:
  numafit kubelet-sim nodes.yaml
  numafit kubelet-sim nodes.yaml --state /tmp/nodes --context kind-test
  numafit kubelet-sim nodes.yaml --remove
  numafit kubelet-sim --rights | kubectl apply -f -
  numafit kubelet-sim --definition | kubectl apply -f -
  numafit kubelet-sim nodes.yaml --topology""",
)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--state", type=click.Path(path_type=Path), help="Keep the kubelets' state here: a folder for each node.")
@click.option("--remove", is_flag=True, help="Take the nodes out of the cluster at the end.")
@click.option("--rights", is_flag=True, help="Print the roles that it needs, and end.")
@click.option("--topology", is_flag=True, help="Publish a NodeTopology of each node, as its agent would.")
@click.option("--definition", is_flag=True, help="Print the definition of NodeTopology, and end.")
@cluster_options
def kubelet_sim(
    file: Path | None,
    state: Path | None,
    remove: bool,
    rights: bool,
    topology: bool,
    definition: bool,
    cluster: ClusterOptions,
) -> int:
    """Play the nodes of FILE in a cluster, until told to stop.

    Each node has a machine, a kubelet's configuration and a release. Pods that are bound to it are admitted or rejected
    as that kubelet would, with its reasons and messages; nothing is run. The annotation numafit.io/run-seconds says how
    long a pod runs. A node that is there already and is not simulated is never touched. Exit status: 0 told to stop,
    2 it could not begin.
    """
    if rights:
        from numafit.cluster.sim.rights import RIGHTS

        click.echo(RIGHTS, nl=False)
        return 0
    if definition:
        from numafit.cluster.topology.definition import definition as definition_text

        click.echo(definition_text(), nl=False)
        return 0
    if file is None:
        raise InputError("it is not said which nodes", cure="name a FILE of them; docs/kubelet-sim.md shows one")
    reached = new_access(cluster)
    # Loaded with the packages that only a cluster needs, which are there now.
    from numafit.cli.options.simulated import simulated_groups
    from numafit.cluster.kube.signals import stop_event
    from numafit.cluster.sim.run import FleetOptions, play_nodes

    groups = simulated_groups(file)
    if topology:
        groups = tuple(replace(group, topology=True) for group in groups)
    names = [name for group in groups for name in group.names]
    options = FleetOptions(state, remove)
    if any(group.sockets for group in groups):
        if state is None:
            cure = "name one with --state"
            raise InputError("nodes with sockets need a folder for them", source=str(file), cure=cure)
        from numafit.cluster.sim.sockets.service import serve_sockets

        options = FleetOptions(state, remove, serve_sockets)

    def ready() -> None:
        many = f"{len(names)} nodes are" if len(names) > 1 else "1 node is"
        click.echo(f"{many} ready: {some_of(names, 5)}")

    async def until_told() -> None:
        stop = stop_event()
        await play_nodes(reached, groups, options, stop, ready, warn)

    asyncio.run(until_told())
    return 0
