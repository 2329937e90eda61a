"""A switch with a real cluster around it: what the API server tells before the plan, and the steps after it."""

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import msgspec

from numafit.cluster.kube.access import Access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.switch.journal import Journal, JournalEntry
from numafit.cluster.switch.kubelet import KubeletProcess
from numafit.cluster.switch.server import NodeAtServer
from numafit.cluster.switch.steps import Switch
from numafit.errors import ApiServerError, InputError


class NodeTold(msgspec.Struct, frozen=True):
    """As the API server has it at one moment."""

    node: bytes
    pods: bytes
    cordoned: bool


async def node_told(access: Access, name: str) -> NodeTold:
    async with KubeApi(access) as api:
        return await told_by(api, name)


async def told_by(api: KubeApi, name: str) -> NodeTold:
    server = NodeAtServer(api, name)
    try:
        cordoned = (await server.node()).spec.unschedulable
    except ApiServerError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        cure = "--node names the one that this machine is; kubectl get nodes lists them"
        raise InputError(f"there is no node {name}", source=api.access.cluster.server, cure=cure) from None
    except msgspec.MsgspecError as error:
        raise InputError(f"what came for it is no Node: {error}", source=f"node {name}") from None
    return NodeTold(await server.object(), await server.listed(), cordoned)


async def switched(
    access: Access,
    journal: Journal,
    say: Callable[[JournalEntry], None],
    tell: Callable[[str], None],
    *,
    back: bool = False,
) -> str:
    """SWITCHED, UNDONE or UNFINISHED. `back`: what was done is undone."""
    async with KubeApi(access) as api:
        return await conducted(api, journal, say, tell, back=back)


async def conducted(
    api: KubeApi,
    journal: Journal,
    say: Callable[[JournalEntry], None],
    tell: Callable[[str], None],
    *,
    back: bool = False,
    root: Path = Path("/"),
) -> str:
    """The same. `root`: where the file system of the node is."""
    order = journal.order
    kubelet = KubeletProcess(Path(order.config), order.stop_command, order.start_command, root / "proc")
    switch = Switch(journal, NodeAtServer(api, order.node), kubelet, say, tell, root)
    if not back and journal.goes_back:
        cure = "--undo brings that to its end"
        raise InputError("this switch has failed, and is half undone", source=str(journal.path), cure=cure)
    return await (switch.back() if back else switch.forward())
