"""The OpenAPI document as one HTML page for people: no script, nothing from elsewhere."""

from collections.abc import Iterator
from html import escape
from typing import Any

from numafit.service.api.openapi import PATH, SchemaJson

STYLE_PATH = "/api/docs.css"
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, .path { font-family: ui-monospace, monospace; font-size: 0.9em; }
section { border-top: 1px solid; padding: 0.75rem 0; }
h2 { font-size: 1rem; margin: 0; }
.method { display: inline-block; min-width: 4rem; font-weight: bold; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: 0.15rem 0.75rem 0.15rem 0; }
"""


def docs_html(document: SchemaJson) -> str:
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><title>numafit: the API</title>',
        f'<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="{STYLE_PATH}"></head><body>',
        f"<h1>numafit {escape(document['info']['version'])}: the API</h1>",
        f'<p>{escape(document["info"]["summary"])} This page is made from <a href="{PATH}">the OpenAPI document</a>; '
        'errors have the shape of <a href="#Problem">Problem</a>.</p>',
    ]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts += _operation(path, method, operation)
    parts.append("<h1>Types</h1>")
    for name, schema in sorted(document["components"]["schemas"].items()):
        parts += _type(name, schema)
    return "\n".join([*parts, "</body></html>"])


def _operation(path: str, method: str, operation: SchemaJson) -> Iterator[str]:
    yield f'<section><h2><span class="method">{method.upper()}</span> <span class="path">{escape(path)}</span></h2>'
    yield f"<p>{escape(operation['summary'])}</p>"
    rows = [
        (
            f"<code>{escape(each['name'])}</code>",
            f"{_words(each['schema'])}, in {each['in']}",
            escape(each["description"]),
        )
        for each in operation.get("parameters", ())
    ]
    if "requestBody" in operation:
        rows.append(("body", _content(operation["requestBody"]["content"]), ""))
    responses = operation["responses"]
    good = next(status for status in responses if status.startswith("2"))
    rows.append(("answer", _content(responses[good]["content"]), ""))
    rows.append(("problems", ", ".join(status for status in responses if status != good), ""))
    yield _table(rows)
    yield "</section>"


def _type(name: str, schema: SchemaJson) -> Iterator[str]:
    yield f'<section id="{escape(name)}"><h2>{escape(name)}</h2>'
    if "description" in schema:
        yield f"<p>{escape(schema['description'])}</p>"
    required = schema.get("required", ())
    rows = [
        (f"<code>{escape(field)}</code>", _words(own), "" if field in required else "may be left out")
        for field, own in schema.get("properties", {}).items()
    ]
    yield _table(rows)
    yield "</section>"


def _content(content: SchemaJson) -> str:
    return " or ".join(f"{escape(kind)}: {_words(own['schema'])}" for kind, own in content.items())


def _words(schema: Any) -> str:
    """A schema in a few words, with links to the types."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#{escape(name)}">{escape(name)}</a>'
    if "anyOf" in schema:
        return " or ".join(_words(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(each))}</code>" for each in schema["enum"])
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {_words(schema.get('items') or {})}"
    if kind == "object" and schema.get("additionalProperties"):
        return f"object of {_words(schema['additionalProperties'])}"
    return escape(str(kind))


def _table(rows: list[tuple[str, str, str]]) -> str:
    lines = ("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{''.join(lines)}</table>"
