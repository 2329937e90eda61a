"""`kubectl numafit doctor`: configuration and release of every node, grouped by equal findings."""

import click

from numafit.cli.fleet.view import Look, look_options
from numafit.cli.options.answer import ANSWERED, FAILED, NOT_SURE, check_option
from numafit.cluster.view.checks import checkup_of
from numafit.show.records.fleet import checkup_answer
from numafit.show.text.fleet.checkup import fleet_checkup_text


@click.command(
    epilog="""\b
Examples:
  kubectl numafit doctor
  kubectl numafit doctor --check
  kubectl numafit doctor -o json | jq '.findings[].code'"""
)
@look_options
@check_option("a finding is an error")
def doctor(look: Look, check: bool) -> int:
    """Look at release and configuration of every node, and tell what is wrong with which; equal findings are one.

    Nodes without a NodeTopology, or with one that is damaged, too new, changed by others or older than the node; nodes
    that are configured otherwise than most of their pool; mistakes in a kubelet's configuration as `numafit lint` finds
    them; devices that are not healthy; what an agent could not learn.

    Exit status: 0 answered; with --check 1 if a finding is an error; 2 no answer, or a right lacks.
    """
    with look.client() as client:
        view = look.view(client)
        if look.blind(view):
            return NOT_SURE
        # Loaded with the client, on which it stands.
        from numafit.cluster.view.stale import stale_nodes

        stale = stale_nodes(view, client)
    checkup = checkup_of(view, stale)
    look.say(view, lambda screen: fleet_checkup_text(checkup, screen), lambda: checkup_answer(checkup, view.notes))
    return FAILED if check and checkup.failed else ANSWERED
