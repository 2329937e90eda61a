"""A document inside a document: a member of it, or a text in it that is YAML again; places are those of the file."""

from collections.abc import Callable
from typing import Any

from numafit.document import Document, Members, Path, PlacedValue, read_documents
from numafit.errors import InputError


def value_at(document: Document, path: Path) -> Any:
    """`Any`: whatever the document holds; the path must exist."""
    value: Any = document.value
    for step in path:
        value = value[step]
    return value


def member_of(document: Document, path: Path, more: dict[str, object] | None = None) -> Document:
    """The mapping at `path`. `more` are members that it gets where it lacks them; they have no place."""
    node = document.nodes()
    for step in path:
        children = None if node is None else node.children
        if isinstance(children, dict) and isinstance(step, str):
            node = children[step][2]
        elif isinstance(children, list) and isinstance(step, int):
            node = children[step]
    return Document({**(more or {}), **value_at(document, path)}, document.source, root=node)


def documents_in(document: Document, path: Path, text: str) -> list[Document]:
    """The documents in the text that stands at `path`, as in a ConfigMap; `text` is the whole file.

    Only a `|` block keeps lines as they are. Of any other text all values have the place of the text itself.
    """
    line, column = document.place(path)
    moved = _moved(text, line or 1, column or 1)
    try:
        found = read_documents(value_at(document, path), document.source)
    except InputError as error:
        line, column = moved(error.line or 1, error.column or 1)
        raise InputError(error.message, source=document.source, line=line, column=column, cure=error.cure) from None
    return [Document(each.value, document.source, root=_root(each, moved)) for each in found]


Moved = Callable[[int, int], tuple[int, int]]
"""Line and column in the inner text -> those in the file."""


def _moved(text: str, line: int, column: int) -> Moved:
    """`text` is the file; line and column are those of the inner text."""
    rows = text.removeprefix("\ufeff").split("\n")
    if not rows[line - 1][column - 1 :].startswith("|"):
        return lambda _line, _column: (line, column)
    first = next((row for row in rows[line:] if row.strip()), "")
    indent = len(first) - len(first.lstrip())
    return lambda inner_line, inner_column: (inner_line + line, inner_column + indent)


def _root(document: Document, moved: Moved) -> PlacedValue | None:
    node = document.nodes()
    return None if node is None else _node(node, moved)


def _node(node: PlacedValue, moved: Moved) -> PlacedValue:
    children: Members | list[PlacedValue] | None = None
    if isinstance(node.children, list):
        children = [_node(child, moved) for child in node.children]
    elif node.children is not None:
        children = {
            key: (*moved(line, column), _node(child, moved)) for key, (line, column, child) in node.children.items()
        }
    return PlacedValue(node.value, *moved(node.line, node.column), children, node.size)
