"""How a record is printed: JSON in UTF-8, indented by two, keys in the order of the record."""

import msgspec


def json_text(record: object) -> str:
    return msgspec.json.format(msgspec.json.encode(record)).decode()
