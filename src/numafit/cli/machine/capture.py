"""`numafit machine capture`: what numafit reads of this machine, in a small .tgz that may be shown to others."""

from pathlib import Path

import click

from numafit.cli.files import WholeFile
from numafit.errors import InputError
from numafit.host.this_machine import tool_outputs
from numafit.machine.read.sysfs.capture import capture_data, captured_files
from numafit.machine.read.sysfs.tree import FolderTree


@click.command(
    epilog="""\b
Examples:
  numafit machine capture
  numafit machine capture --out box.tgz
  numafit machine show --machine box.tgz"""
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("machine.tgz"),
    show_default=True,
    help="Write this file.",
)
@click.option("--keep-names", is_flag=True, help="Keep UUIDs of GPUs, serial numbers, the host's name.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=Path("/"),
    show_default=True,
    help="Read sys and proc under this folder; unless it is /, no other tool is asked.",
)
def capture(out: Path, keep_names: bool, root: Path) -> int:
    """Write the files of /sys and /proc that numafit uses, and what other tools say of this machine, into a .tgz.

    Nothing private goes in: no serial numbers, no addresses of network cards, no name of the host; GPUs get UUIDs like
    GPU-00000000-0000-0000-0000-000000000001. `--machine FILE.tgz` reads it back.

    Exit status: 1 when numafit cannot read the machine; the capture then shows how far it came.
    """
    if out.exists() and not out.is_file():
        raise InputError("is not a file that could be replaced", source=str(out), cure="choose another --out")
    live = root.resolve() == Path("/")
    recording = captured_files(FolderTree(root), str(root))
    outputs = tool_outputs() if live else {}
    data = capture_data(recording, outputs, keep_names=keep_names)
    with WholeFile(out) as file:
        file.write(data)
        file.commit()
    tools = f" and {len(outputs)} outputs of other tools" if outputs else ""
    click.echo(f"{out}: {len(recording.files)} files of sys and proc{tools}, {len(data)} bytes")
    if recording.error:
        click.echo(f"numafit: the machine cannot be read, the capture ends there: {recording.error}", err=True)
        return 1
    return 0
