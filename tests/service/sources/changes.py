"""What a source tells of its node, step by step."""

import asyncio
from collections.abc import Callable

from numafit.service.node import Change, NodeSource


def changes_of(source: NodeSource, *steps: Callable[[], None]) -> list[Change]:
    """The first change, and the one after each step."""

    async def run() -> list[Change]:
        changes = source.changes()
        found = [await anext(changes)]
        for step in steps:
            step()
            found.append(await asyncio.wait_for(anext(changes), 20))
        return found

    return asyncio.run(run())
