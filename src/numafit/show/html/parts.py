"""What pages have in common: the frame, tables, and what the numbers stand on."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from numafit.show.html.style import style_text


def page_text(title: str, subtitle: str, parts: Iterable[str]) -> str:
    """Whole: it loads nothing, and follows the light or dark of the reader's system."""
    head = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)} - numafit</title><style>{style_text()}</style></head><body>",
        f"<header><h1>{escape(title)}</h1><p>{escape(subtitle)}</p></header><main>",
    ]
    return "\n".join((*head, *parts, "</main></body></html>", ""))


def table_html(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(own)}</th>' for own in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>' + "".join(f"<td>{escape(own)}</td>" for own in row[1:]) + "</tr>"
        for row in rows
    )
    return f'<div class="card wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def stands_on(said: Iterable[str]) -> Iterator[str]:
    items = "".join(f"<li>{escape(own)}</li>" for own in said)
    yield f'<section><h2>What this stands on</h2><ul class="notes card">{items}</ul></section>'
