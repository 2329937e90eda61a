"""How a record is printed: JSON in UTF-8, indented by two, keys in the order of the record; or the same as YAML."""

from typing import Any

import msgspec


def json_text(record: object) -> str:
    return msgspec.json.format(msgspec.json.encode(record)).decode()


def json_line(record: object) -> str:
    """For a stream of records, each on a line of its own."""
    return msgspec.json.encode(record).decode()


def yaml_text(record: object) -> str:
    """`null`, truth values and numbers read as in JSON."""
    # Only here: to load it takes longer than to print a small record.
    import yaml

    # without aliases: the same list may stand in several places
    dumper: Any = type("Plain", (yaml.CSafeDumper,), {"ignore_aliases": lambda *_: True})
    value = msgspec.to_builtins(record)
    text: str = yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=120)
    return text.rstrip("\n")
