"""`numafit lint`: mistakes in kubelet configurations, flags, pods and device plugin configurations."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from numafit.advice.lint.lint import LintFile, LintReport
from numafit.advice.lint.lint import lint as lint_sources
from numafit.advice.lint.manual import page_of
from numafit.cli.files import MANIFESTS, read_bytes, write_whole
from numafit.cli.held import HeldPath
from numafit.cli.options.answer import say, status, strict_option
from numafit.cli.options.case import case_parts
from numafit.cli.options.live import node_name_option
from numafit.cli.options.machine import machine_option, resolve_machine
from numafit.cli.options.one_of import OneOf
from numafit.cluster.case.case import is_case
from numafit.decision.notes import release_notes
from numafit.errors import InputError
from numafit.machine.combine.unstated import with_memory
from numafit.machine.source import Source
from numafit.settings.node_object import read_node
from numafit.settings.versions import DEFAULT_VERSION, parse_version
from numafit.show.json import json_text
from numafit.show.records.lint import lint_record
from numafit.show.records.sarif import sarif_record
from numafit.show.text.lint import lint_github, lint_text

SUFFIXES = (*MANIFESTS, ".env", ".conf")
STANDARD_INPUT = "standard input"

_VIEWS: dict[str, Callable[[LintReport], str]] = {
    "sarif": lambda report: json_text(sarif_record(report)),
    "github": lint_github,
}


def _explain(context: click.Context, _parameter: click.Parameter, code: str | None) -> None:
    if code is not None:
        click.echo(page_of(code), nl=False)
        context.exit()


@click.command(
    epilog="""\b
Examples:
  numafit lint /var/lib/kubelet/config.yaml
  numafit lint kubelet.yaml kubelet.env pods/ --machine dgx-h100 --kube-version 1.31
  numafit lint --fix kubelet.yaml
  numafit lint --node gpu-1
  numafit lint -o sarif manifests/ > lint.sarif
  numafit lint --explain NF110"""
)
@click.argument("files", nargs=-1, metavar="FILES...", type=click.Path(path_type=Path, allow_dash=True))
@node_name_option
@machine_option
@click.option(
    "--kube-version", metavar="V", help=f"Release of the kubelet; default that of the node, else {DEFAULT_VERSION}."
)
@click.option("-o", "output", type=OneOf(["text", "json", *_VIEWS]), default="text", show_default=True)
@click.option("--fix", is_flag=True, help="Correct the case of policy names and missing quotes in the files.")
@click.option(
    "--explain",
    metavar="CODE",
    is_eager=True,
    expose_value=False,
    callback=_explain,
    help="Print the page of a code, with examples, and end.",
)
@strict_option
def lint(
    files: Sequence[Path],
    live: HeldPath | None,
    specs: Sequence[str | Source],
    kube_version: str | None,
    output: str,
    fix: bool,
    strict: bool,
) -> int:
    """Find mistakes in FILES before a kubelet, a pod or a user does.

    FILES are kubelet configurations, environment files with kubelet flags, pod manifests and configurations of NVIDIA's
    device plugin, recognised by content; folders of them; or - for standard input. What is given together is judged
    together. --machine adds what a machine tells. With --node, or for a folder of `numafit node pull`, the node's
    configuration and pods are judged on its machine.

    Exit status: 0 nothing found or only hints, 1 errors or warnings, 2 a file that is no such file or cannot be read,
    and with --strict also an answer with notes.
    """
    if live is not None and fix:
        raise InputError("does not go with --node", source="--fix", cure="nothing is changed in a cluster")
    files = [*([live] if live is not None else []), *files]
    if not files:
        raise InputError("nothing to lint", cure="name files or folders, - for standard input, or a node by --node")
    cases = [case_parts(path) for path in files if path.is_dir() and is_case(path)]
    version, given = parse_version(kube_version or str(DEFAULT_VERSION)), kube_version is not None
    for parts in cases:
        version = version if given else read_node(read_bytes(parts.node), str(parts.node)).version()
        specs = specs or ([parts.machine_source()] if parts.machine or parts.published else [])
    combined = resolve_machine(specs) if specs else None
    machine = with_memory(combined.machine) if combined is not None else None
    sources = _sources(files)
    report = lint_sources(sources, version, machine)
    if fix and report.fixed:
        _write(report, sources)
        report = lint_sources([each._replace(data=_new_data(each, report)) for each in sources], version, machine)
    doubts = combined.notes if combined is not None else ()
    told = [note for parts in cases for note in parts.notes]
    notes = (*doubts, *release_notes(version, given=given or bool(cases)), *told, *report.notes)
    if output == "json":
        click.echo(json_text(lint_record(report, notes)))
    elif output == "text":
        say(lambda screen: lint_text(report, screen), notes)
    else:
        click.echo(_VIEWS[output](report))
    return 2 if report.unreadable else status(notes, strict=strict, failed=report.failed)


def _sources(files: Sequence[Path]) -> list[LintFile]:
    """A folder stands for the manifests and environment files in it; a file that comes twice is read once."""
    sources: dict[str, LintFile] = {}
    for path in files:
        if not path.is_dir():
            name = STANDARD_INPUT if str(path) == "-" else str(path)
            sources[name] = LintFile(name, read_bytes(path))
            continue
        if is_case(path):
            parts = case_parts(path)
            for entry in (parts.kubelet_told, parts.pods):
                if entry is not None:
                    sources.setdefault(str(entry), LintFile(str(entry), read_bytes(entry)))
            continue
        found = sorted(entry for entry in path.iterdir() if entry.suffix in SUFFIXES and entry.is_file())
        if not found:
            raise InputError(
                "nothing to lint in this folder", source=str(path), cure=f"files end in {', '.join(SUFFIXES)}"
            )
        for entry in found:
            sources.setdefault(str(entry), LintFile(str(entry), read_bytes(entry), named=False))
    return list(sources.values())


def _write(report: LintReport, sources: Sequence[LintFile]) -> None:
    for source in sources:
        if source.name in report.fixed:
            if source.name == STANDARD_INPUT:
                raise InputError("standard input cannot be fixed", cure="name the file")
            # A link stays a link, and the file keeps its mode.
            path = Path(source.name).resolve()
            mode = path.stat().st_mode & 0o7777
            write_whole(path, _new_data(source, report))
            path.chmod(mode)
            click.echo(f"{source.name}: fixed", err=True)


def _new_data(source: LintFile, report: LintReport) -> bytes:
    if source.name not in report.fixed:
        return source.data
    mark = b"\xef\xbb\xbf" if source.data.startswith(b"\xef\xbb\xbf") else b""
    return mark + report.fixed[source.name].encode()
