"""`kubectl numafit explain`: the story of a pod from the live cluster."""

import click

from numafit.cli.fleet.view import Look, look_options
from numafit.cli.options.answer import ANSWERED, FAILED, check_option
from numafit.cluster.view.accounts import Accountant
from numafit.cluster.view.found import pod_words, pods_meant
from numafit.show.records.fleet import accounts_record
from numafit.show.text.fleet.account import accounts_text

GOOD = ("runs", "coming", "ended")


@click.command(
    epilog="""\b
Examples:
  kubectl numafit explain pod/train-0
  kubectl numafit explain train-0 -n ml
  kubectl numafit explain ml/train-0 -o json
  kubectl numafit explain deploy/web"""
)
@click.argument("words", metavar="POD...", nargs=-1, required=True)
@look_options
@check_option("a pod was rejected, waits, or is split")
def explain(look: Look, words: tuple[str, ...], check: bool) -> int:
    """Tell how a pod stands: where it sits, why it was rejected, or why it waits, node by node.

    POD is pod/NAME, NAME or NAMESPACE/NAME; deploy/NAME, rs/NAME, sts/NAME, ds/NAME, job/NAME and cronjob/NAME stand
    for all of their pods. A pod that waits is asked of every node, as it stands and beside what is promised to it: what
    is short where, which pod would have to end, and the smallest change with which it would start now.

    Exit status: 0 answered; with --check 1 if a pod was rejected, waits or is split; 2 there is no such pod, or no
    answer.
    """
    with look.client() as client:
        # Loaded with the client, on which it stands.
        from numafit.cluster.view.reading import pods_in

        given = look.namespace is not None
        wanted = [pod_words(text, look.namespace_of(client), given=given) for text in words]
        view = look.view(client)
        there = {own.namespace: pods_in(view, client, own.namespace) for own in wanted}
    pods = [pod for own in wanted for pod in pods_meant(own, there[own.namespace])]
    accountant = Accountant(view)
    accounts = [accountant.account(pod) for pod in pods]
    look.say(view, lambda screen: accounts_text(accounts, screen), lambda: accounts_record(accounts, view.notes))
    good = all(own.standing in GOOD and not (own.seat and own.seat.split) for own in accounts)
    return FAILED if check and not good else ANSWERED
