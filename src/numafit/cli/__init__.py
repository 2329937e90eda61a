"""Typing it: the `numafit` command and its subcommands.

    commands    the table of subcommands, each loaded only when it is called
    quick       `run` as most people write it, understood without loading click
    start       loading without delay
    bundle      all that `run` loads, in one file
    kubelet/    what would a kubelet do: simulate explain advise fit compare lint doctor replay
    host/       jobs on this host: run rank docker podman ps free history release cancel audit measure, host setup
    machine/    looking at machines: show links list convert capture
    node/       nodes of a cluster: pull, kubelet-sim, and device-plugin and node-agent on one of them
    fleet/      all nodes of a cluster together; the same commands are `kubectl numafit`
    cluster/    clusters: up starts one; place, guard, extender and scheduler-config are for any
    agent/      serve, and the metrics that it offers
    completion  the script for a shell
    options/    options that several commands share, up to the value that they stand for
    held        a folder in memory, which reads like any other
    files       reading what people name, writing files that appear whole or not at all
    terminal    the screen for answers, a bar for long work, signals that end it tidily
    warning     a line on standard error

A command reads its options, calls one function of a room above, and prints what `show` makes of the value; it holds
no rules. It returns its exit status. Errors of `errors` go through: `__main__` turns them into one sentence and
status 2.

Inside commands, what only one option needs is imported with it.
"""
