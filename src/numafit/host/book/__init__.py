"""The ledger on disk: who holds what of this host, in one SQLite file that every user of it may write.

Read `book` first: all that can be done with leases, each as one transaction. Below it `store` opens the file, takes the
lock and tells damage from other trouble; `tables` are its tables and what one transaction reads and writes; `folder`
says which ledger is meant, `commands` keeps what not everybody who shares it may read, and `opening` opens files where
one of those who share it may have put a trap. `work` knows what runs under a lease: whether it is still in use, and how
shared work is moved when the pool changes. `rebuild` finds the leases that really run, for a ledger that was lost.
`line` are those that wait, inside a transaction, and `bell` the pipes by which they hear. Above the book `serve` looks
once at the queue (the rule is `host.backfill`), `watch` looks whenever something ended, for all that wait, `starts`
writes down the commands of those that it let start, and `queue` takes a lease or waits for it. `moves` gives leases
other CPUs than they had, `strays` enters containers that were started again, and `glance` reads a ledger that may not
be written.

There is no daemon that must be alive: every command that opens the book first frees the leases of those who are gone.
The tables themselves refuse a CPU or a device that is held twice, whatever the code above them does. Memory has no such
row; it is counted by the engine, inside the transaction.

Docker is asked inside a transaction only when a container is in question, and an engine that does not answer frees
nothing.
"""
