"""Work under a lease, from its first step to its end.

`command` runs a command: it is bound, written down, watched over, and its lease freed. `container` does the same
around `docker run`, and `adopt` puts a container under a lease that already runs. Both commands and containers
are started by `supervise`, which forks, passes signals on and waits; `execute` becomes the command as a shell
would. `rank` and `share` are for a job of several processes: which one this is, and which part of the job's CPUs
it takes. They need no ledger.

The hard part is the order of steps in `supervise`: the new process binds itself, tells how far that went and
waits; the caller writes it down; only then the command starts. So whenever a process is killed, there is no
command or one that is written down.
"""
