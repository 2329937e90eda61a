"""A job that has waited, from its lease to its running command, without most of Python.

Who waits is a small shell (`run.sleep`). To become all of numafit again takes some 70 ms of CPU time, nearly all of it
for loading; where many start at once that is what the last of them waits for. So a shell that hears `start` becomes
this instead: `__main__`, then `job`, which binds a new process (`binding`), tells the one who watches over the queue,
hears from him that it is written down, and lets it become the command (`execute`). `words` are what the two say to
each other, `kept` what the process has kept from before its sleep, `foreseen` what the watcher knows of how it will
be bound.

What is here does the usual and nothing else. Whatever is not as it was foreseen (a rung that is refused now, a watcher
that does not answer) is taken back, and the process becomes numafit as ever, which has the lease already. It also does
so once the command runs and something happens: a signal, the end, the time to look at the shared pool.

`job`, `binding`, `execute`, `kept` and `words` load only what a bare Python has at hand; a test counts it.
"""
