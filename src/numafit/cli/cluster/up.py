"""`numafit cluster up`: a control plane on this host, as long as it is wanted."""

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import which

import click
import msgspec

from numafit.cli.options.one_of import OneOf
from numafit.cli.options.simulated import simulated_groups
from numafit.cli.terminal import tidy_end
from numafit.cli.warning import warn
from numafit.cluster.sim.group import check_groups
from numafit.cluster.topology.definition import definition
from numafit.cluster.topology.model import GROUP, PATH, PLURAL
from numafit.cluster.up.command import run_command
from numafit.cluster.up.control_plane import ControlPlane, RunningProgram
from numafit.cluster.up.folder import state_folder
from numafit.cluster.up.programs import VARIABLE, found_programs, openssl
from numafit.cluster.up.simulated import define_kind, start_nodes
from numafit.errors import InputError
from numafit.show.json import json_text


class ClusterRecord(msgspec.Struct, frozen=True):
    """`-o json`, printed once, when all is up."""

    release: str
    server: str
    kubeconfig: str
    state: str
    kept: bool
    nodes: Sequence[str]
    programs: dict[str, RunningProgram]


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  numafit cluster up
  numafit cluster up --binaries ~/kubernetes/server/bin --state ~/my-cluster
  numafit cluster up --nodes nodes.yaml -- kubectl get nodes
  numafit cluster up -o json""",
)
@click.option(
    "--binaries",
    envvar=VARIABLE,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help=f"Folder of etcd, kube-apiserver, …; default ${VARIABLE}, then the PATH.",
)
@click.option(
    "--state",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Keep all files here, and use them again next time; default a folder that is removed at the end.",
)
@click.option(
    "--nodes", metavar="FILE", type=click.Path(path_type=Path), help="Play the nodes of this file (kubelet-sim)."
)
@click.option("-o", "output", type=OneOf(["text", "json"]), help="text or json.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def up(
    binaries: Path | None, state: Path | None, nodes: Path | None, output: str | None, command: Sequence[str]
) -> int:
    """Start etcd, API server, controller manager and scheduler on loopback, and print a kubeconfig for them.

    All of it runs until Ctrl-C, or until COMMAND has ended, which finds the cluster by KUBECONFIG. RBAC is on; the
    kubeconfig printed may do everything. It needs openssl, and neither root nor containers. Exit status: 0 told to
    stop, that of COMMAND, 2 it could not begin or a part of it ended.
    """
    if output and command:
        raise InputError("does not go with a COMMAND, which has the output", source="-o")
    if nodes is not None and not nodes.is_file():
        raise InputError("there is no such file", source=str(nodes), cure="docs/kubelet-sim.md shows one")
    if command and which(command[0]) is None:
        raise InputError("there is no such program", source=command[0], cure="COMMAND is looked for on the PATH")
    programs = found_programs(binaries)
    openssl()
    # A mistake in it is told now, and not when all is up.
    groups = simulated_groups(nodes) if nodes is not None else ()
    check_groups(groups)
    began = time.monotonic()
    with (
        tidy_end(),
        _same_interrupt_after(),
        state_folder(state) as folder,
        _progress() as tell,
        ControlPlane(folder, programs, tell) as cluster,
    ):
        try:
            if any(group.topology for group in groups):
                define_kind(cluster, definition(), f"{PLURAL}.{GROUP}", PATH)
            names = start_nodes(cluster, nodes) if nodes else []
            tell("")
            if command:
                return run_command(command, cluster, warn)
            return _serve(cluster, names, output or "text", time.monotonic() - began)
        finally:
            _calm()


def _serve(cluster: ControlPlane, nodes: Sequence[str], output: str, seconds: float) -> int:
    folder = cluster.state
    if output == "json":
        record = ClusterRecord(
            cluster.release,
            cluster.server,
            str(cluster.kubeconfig),
            str(folder.path),
            folder.kept,
            nodes,
            cluster.running(),
        )
        click.echo(json_text(record))
    else:
        click.echo(cluster.kubeconfig.read_text(), nl=False)
    sys.stdout.flush()
    beside = f" with {len(nodes)} node{'s' * (len(nodes) != 1)}" if nodes else ""
    after = "are kept" if folder.kept else "go with it"
    warn(f"Kubernetes {cluster.release} is up at {cluster.server}{beside} after {seconds:.1f} s")
    warn(f"all its files are in {folder.path} and {after}; Ctrl-C takes it down")
    click.echo(f"export KUBECONFIG={cluster.kubeconfig}", err=True)
    try:
        cluster.watch()
    except (KeyboardInterrupt, SystemExit):
        # The way to end it.
        return 0


@contextmanager
def _same_interrupt_after() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _calm() -> None:
    """From here on it is taken down, which takes a moment: a second Ctrl-C would leave files behind."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def _progress() -> Iterator["_Progress"]:
    progress = _Progress(sys.stderr.isatty())
    try:
        yield progress
    finally:
        progress("")


class _Progress:
    """One line that changes, on a terminal only. Empty: it goes, unless it has gone before somebody else wrote."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.there = False

    def __call__(self, what: str) -> None:
        if self.shown and (what or self.there):
            click.echo(f"\r\x1b[K{f'starting {what} …' if what else ''}", nl=False, err=True)
            self.there = bool(what)
