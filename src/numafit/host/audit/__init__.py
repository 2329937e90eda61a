"""Whether promises hold: what leases and containers were given, compared with what the kernel says of their
processes.

`codes` is the table of what can be found, each with a section in docs/audit.md. `activity` says what processes did
between two looks; `numastat` counts the allocations of each NUMA node. Five judge, values in and findings out, over
observations of `process`:

    promise     threads, memory and GPUs of a promise; the value `Promise` itself
    crowd       whether a job can use all the CPUs that it holds
    intruders   who else works on exclusive CPUs
    drift       whether memory moves away as time goes by
    alignment   processes to which nobody promised anything: do CPUs, memory and GPUs lie together?

`holders` reads the promises from the ledger and from Docker; `survey` chooses the processes to look at and gathers the
findings into one report; `watch` makes one report after the other.

A thing that could not be seen is no finding. The observation says what was not seen and why, and the report
repeats it. A thing that nobody needs to act on is none either: who sleeps disturbs nobody.
"""
