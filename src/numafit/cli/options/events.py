"""A file of events: what happens to a node beside pods that come."""

from pathlib import Path

from numafit.cli.files import read_text
from numafit.cli.options.node import NodeOptions, config_sources
from numafit.decision.history.event import Event
from numafit.decision.history.lines import read_events
from numafit.decision.stage import Stage
from numafit.settings.read.loader import ConfigFile, ConfigSources


def read_event_file(options: NodeOptions, stage: Stage, path: Path) -> list[Event]:
    """A configuration that it names lies beside it, or where the command runs; drop-in files and flags stay."""

    def config(name: str) -> ConfigSources:
        beside = path.parent / name
        found = beside if beside.is_file() else Path(name)
        return config_sources(options, ConfigFile(str(found), read_text(found)))

    there, node = stage.ledger.active.values(), stage.node.facts.name
    return read_events(read_text(path), str(path), stage.pods, there, config=config, node=node)
