"""Work under a lease, from its first step to its end.

`command` runs a command: it is bound, written down, watched over, and its lease freed. `container` does the same around
`docker run`, and `adopt` puts a container under a lease that already runs. Both commands and containers are started by
`supervise`, which forks, passes signals on and waits, and `ending` ends a job whose time is over or that somebody
cancels. `rank` and `share` are for a job of several processes: which one this is, and which part of the job's CPUs it
takes. They need no ledger. `launcher` knows which commands start such processes by themselves, or have them started
outside of the job; `programs` finds them behind wrappers and in the script of a shell. `sleep` waits for a lease as a
small shell, and begins the command anew when there is one; `resumed` is what it then comes back with. Most need not
come back until their command runs: what `prepare` found out before the sleep (for what was `asked`) is enough for
`host.wake`.

The hard part is the order of steps in `supervise`: the new process binds itself, tells how far that went and waits; the
caller writes it down; only then the command starts. So whenever a process is killed, there is no command or one that is
written down.
"""
