"""Whether promises hold: what leases and containers were given, compared with what the kernel says of their
processes.

`codes` is the table of what can be found, each with a section in docs/audit.md. `promise` has the value `Promise`
and judges it: threads, memory, GPUs, intruders. `alignment` judges processes to which nobody promised anything:
do CPUs, memory and GPUs lie together? Both are values in, findings out, over observations of `process`. `holders`
reads the promises from the ledger and from Docker; `survey` chooses the processes to look at and gathers the
findings into one report.

A thing that could not be seen is no finding. The observation says what was not seen and why, and the report
repeats it.
"""
