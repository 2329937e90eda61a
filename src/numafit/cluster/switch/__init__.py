"""Another configuration for the kubelet of this node, without the node being lost over it: `numafit node switch`.

    drain       which pods go first, which stay, which are in the way
    plan        what the change would do, by the engine: does the kubelet start, who is rejected, who moves
    edit        the present configuration with some fields changed (`--set`)
    journal     what is wanted and how far it is, on disk; a lock, so that there is one at a time
    files       the kubelet's configuration and state files: kept, emptied, written, put back
    kubelet     its process: stopped, started, looked for
    server      the node at the API server: closed, emptied, ready, open
    steps       all of that in order, forward and back, each step in the journal before and after it
    words       plan and log for people, the same as a record for programs
    conduct     the steps with a real cluster around them

Read `plan` first, then `steps`. `plan` is pure: values in, a value out. What only a cluster needs (the extra
`kubernetes`) is met in `server` and below it.

The hard idea: nobody remembers. The process may end at any moment, and the machine, too; so each step looks at what is
there instead of what it did, and the journal says which steps were begun. Going on and going back are then the same
as doing it for the first time, from the right step on.
"""
