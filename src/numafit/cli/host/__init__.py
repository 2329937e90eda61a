"""Jobs on this host: commands that take, show and give back leases.

    run       a command on what is free and aligned, held while it runs; its options
    job       the same once they are understood
    docker/   the same for a container: run, plan, adopt
    plan      the plan without taking anything: `run --dry-run` and `--print`
    rank      one process of a torchrun, mpirun or srun job on its share
    leases    ps, free and history: who holds what, what is left, what happened
    release   a lease given back by hand
    cancel    the job of a lease ended, gently first
    group     `numafit host`: commands about the host as a whole
    setup     one ledger for all users, made by root, and looked after by a timer
    waiting   a lease now or later, with a word on where one stands in the queue
    refusal   what they say, and end with, when there is no lease
    audit     what the kernel really does with processes
    measure   what the machine really does, and what binding brings a command

The rules are in the room `host`; `run` and `rank` load little at the top, for many processes start at once. What was
refused because it is not free ends with status 75, so that a script can try again.
"""
