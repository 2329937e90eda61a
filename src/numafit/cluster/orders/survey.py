"""All that a plan needs to know of a node, learnt on the node itself by its agent."""

import asyncio
from pathlib import Path

import msgspec
from msgspec.structs import replace

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.node.agent import AgentOptions
from numafit.cluster.node.configz import CONFIGZ
from numafit.cluster.node.learn import NodeLearner
from numafit.cluster.node.process import KUBELET_FOLDER, config_sources, find_kubelet
from numafit.cluster.orders.order import OrderMap
from numafit.cluster.orders.words import CONFIG
from numafit.cluster.switch.conduct import NodeTold, told_by
from numafit.cluster.switch.edit import with_changes
from numafit.cluster.switch.kubelet import KubeletProcess
from numafit.cluster.switch.plan import SwitchQuestion
from numafit.decision.start import Start
from numafit.errors import InputError
from numafit.ledger.state_files import read_state_files
from numafit.settings.read.loader import ConfigFile


class NodeSurvey(msgspec.Struct, frozen=True):
    """Of one moment."""

    question: SwitchQuestion
    told: NodeTold
    config: str
    """Path of the kubelet's configuration file on the node, as are all paths here."""
    folder: str
    old: str
    new: str
    process: int | None


def kubelet_folder(options: AgentOptions) -> str:
    """While no kubelet runs only what the agent was told counts."""
    if options.folder:
        return options.folder
    process, _ = find_kubelet(options.root, options.name)
    return process.folder if process is not None else KUBELET_FOLDER


async def surveyed(api: KubeApi, options: AgentOptions, order: OrderMap) -> NodeSurvey:
    """Raises InputError, also for an order that makes no sense."""
    wish = order.wish()
    told = await told_by(api, options.name)
    learner = NodeLearner(options.root, options.name, api, options.folder, options.config)
    await learner.fetch_node()
    learnt = await learner.learn()
    named = "" if options.config == CONFIGZ else options.config
    # As it is now: the kubelet that runs may have begun with another one.
    present = await asyncio.to_thread(config_sources, options.root, learnt.process, named)
    if present is None or present.file is None:
        cure = "start the agent with --kubelet-config FILE"
        raise InputError("the kubelet's configuration file is not known", source=f"node {options.name}", cure=cure)
    file = present.file
    text = order.said(CONFIG) or with_changes(file.text, file.name, wish.changes)
    known = learnt.known
    question = SwitchQuestion(
        Start(version=known.version, release_given=known.release_given, machine=known.machine, facts=known.facts),
        present,
        replace(present, file=ConfigFile(file.name if wish.changes else "the order", text)),
        await asyncio.to_thread(read_state_files, learnt.folder),
        told.pods,
        options.name,
        wish.keep_pods,
        wish.choice,
        learnt.notes,
    )
    kubelet = KubeletProcess(Path(file.name), "", "", options.root / "proc")
    return NodeSurvey(question, told, file.name, kubelet_folder(options), file.text, text, kubelet.number())
