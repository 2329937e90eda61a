"""Tables put into a page, each between two marks: `<!-- study: NAME -->` and `<!-- end -->`."""

import re

MARKED = re.compile(r"(?<=<!-- study: )([\w-]+)( -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)


def tables_in(page: str) -> dict[str, str]:
    """By name."""
    return {found[1]: found[3].strip() for found in MARKED.finditer(page)}


def with_tables(page: str, tables: dict[str, str]) -> str:
    """Tables that the page has no mark for are left out, and those that are not given stay."""

    def put(found: re.Match[str]) -> str:
        table = tables.get(found[1])
        return found[0] if table is None else f"{found[1]}{found[2]}\n{table}\n\n"

    return MARKED.sub(put, page)
