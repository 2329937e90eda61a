"""`kubectl numafit why-pending`: all pods that wait, with one sentence each."""

import click

from numafit.cli.fleet.view import Look, look_options
from numafit.cli.options.answer import ANSWERED, FAILED, NOT_SURE, check_option
from numafit.cli.terminal import progress_over
from numafit.cluster.view.accounts import Accountant, waiting_pods
from numafit.fleet.look.account import PodAccount
from numafit.show.records.fleet import accounts_record
from numafit.show.records.time import seconds_of
from numafit.show.text.fleet.account import pending_text
from numafit.show.text.leases import age_text


@click.command(
    "why-pending",
    epilog="""\b
Examples:
  kubectl numafit why-pending
  kubectl numafit why-pending -A
  kubectl numafit why-pending -n ml -o json""",
)
@look_options
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Those of all namespaces.")
@check_option("a pod waits")
def why_pending(look: Look, everywhere: bool, check: bool) -> int:
    """List the pods that are bound to no node, gated ones too, the oldest first, and say of each why it waits.

    Each is asked of every node as it stands; equal pods are asked once. `explain` tells one of them node by node.

    Exit status: 0 answered; with --check 1 if a pod waits; 2 bad input, or no answer.
    """
    with look.client() as client:
        view = look.view(client)
        namespace = None if everywhere else look.namespace_of(client)
    if look.blind(view, pods=True):
        return NOT_SURE
    accountant = Accountant(view)
    accounts: list[PodAccount] = []
    with progress_over(waiting_pods(view, namespace)) as waiting:
        accounts.extend(accountant.account(pod) for pod in waiting)
    ages = {own.name: _age(own.since) for own in accounts}
    look.say(view, lambda screen: pending_text(accounts, ages, screen), lambda: accounts_record(accounts, view.notes))
    return FAILED if check and accounts else ANSWERED


def _age(since: str) -> str:
    try:
        return age_text(seconds_of(since))
    except ValueError:
        return "-"
