"""How busy the machine is, asked of a running agent."""

import asyncio
from pathlib import Path

from numafit.service.app import Agent
from numafit.service.sources.demo import Demo
from numafit.service.sources.host import HostSource


def test_an_agent_of_this_machine_reads_its_meter(tmp_path: Path) -> None:
    """Every few seconds; here twice at once, since the first reading is a start only."""
    agent = Agent(HostSource(tmp_path))

    async def measured() -> None:
        meter = agent.source.meter
        assert meter is not None
        meter.read()
        async with agent.running():
            while not agent.board.recent.points:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(measured(), 60))
    answer = agent.board.recent.answer()
    assert answer.known
    assert set(answer.cpus) <= {cpu.id for cpu in agent.source.place.machine.cpus}
    assert answer.nodes[0].total > answer.nodes[0].used > 0


def test_a_simulation_has_none() -> None:
    assert Agent(Demo("laptop")).board.recent.answer().seconds == 0
