"""A file of events: what happens to a node beside pods that come."""

from pathlib import Path

from msgspec.structs import replace

from numafit.cli.files import read_text
from numafit.cli.options.node import NodeOptions
from numafit.cli.options.stage import config_sources
from numafit.decision.history.event import Event
from numafit.decision.history.lines import added_names, read_events
from numafit.decision.stage import Stage
from numafit.decision.start import Start, start
from numafit.errors import InputError, StartError
from numafit.notes import Note
from numafit.settings.read.loader import ConfigFile, ConfigSources, refuse_unknown


def with_event_file(options: NodeOptions, path: Path) -> tuple[NodeOptions, str]:
    """The options with which pods that the file adds come, whatever has become of them; and its text."""
    if str(path) == "-" and any(str(own) == "-" for own in options.pods):
        cure = "keep one of them in a file"
        raise InputError("events and pods cannot both come from standard input", source="--events", cure=cure)
    text = read_text(path)
    options = replace(options, added=added_names(text))
    if not any(line.partition("#")[0].strip() for line in text.splitlines()):
        note = Note(
            "event-without-effect", str(path), "there is no event in it: the pods come, and nothing else happens"
        )
        options = replace(options, notes=(*options.notes, note))
    return options, text


def read_event_file(options: NodeOptions, stage: Stage, path: Path, text: str) -> list[Event]:
    """A configuration that it names lies beside it, or where the command runs; drop-in files and flags stay."""

    def config(name: str) -> ConfigSources:
        beside = path.parent / name
        found = beside if beside.is_file() else Path(name)
        sources = config_sources(options, ConfigFile(str(found), read_text(found)))
        _refuse_unknown(stage, sources)
        return sources

    there, node = stage.ledger.active.values(), stage.node.facts.name
    return read_events(text, str(path), stage.pods, there, config=config, node=node)


def _refuse_unknown(stage: Stage, sources: ConfigSources) -> None:
    """As in the configuration of the beginning. That the kubelet does not start with it is told when it is played."""
    version = stage.node.settings.version
    try:
        known = start(Start(version=version, sources=sources), "merged")
    except StartError:
        return
    refuse_unknown(known.merged, version)
