"""Docker: its engine, its containers, and its command line.

`engine` asks the engine, on its unix socket or by the `docker` command, and describes containers; `look` tells in a
millisecond which ones have leases, and `events` when something happens to one. `containers` says which leases have a
container that lives, what a container tells of its lease by its labels, and pins one to other CPUs. `command_line`
reads the words after `docker run` as Docker reads them; `options` turns a lease into such words and finds those of the
user that contradict it; `plan` says what numafit would make of command lines on a machine, `compose` of the services of
a compose file.

Nothing here opens the ledger: running and adopting containers is in `run`, entering those that came back in
`book`.

An engine that does not answer is a normal case. Then the answer is None, and nothing may be concluded from it:
every container may be alive.
"""
