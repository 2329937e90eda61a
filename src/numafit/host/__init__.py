"""This machine, made so: a job is given its CPUs, memory and devices, held to them, and watched.

Values first: `host` (this machine as jobs meet it; `host_file` and `this_machine` fill it), `request` (what a job asks
for), `lease` (what it holds), `usage` (what is really in use), `meter` (how busy the machine is), `environment` (a
lease as variables of a process, and back), `announce` (what is said of a job when it starts). Then questions about
them, which touch nothing: `place` asks the engine where a request goes on top of the leases, as a kubelet would;
`cores` has it take whole cores; `spread` decides for the job, near its devices and for each of its processes, with
`parts`, which have CPUs and memory each; `room` whether that is really free; `pool` says which CPUs are nobody's,
`quota` how much is left to a user; `grant` says yes or no and why, `free` what is left, `verdicts` how each lease lies,
`mend` which CPUs could stand in for lost ones. `backfill` is the rule of the queue: who of those that wait may start.

Then the folders that touch the machine, each with its page:

    process/  which process is meant, whether it lives, and what the kernel says of it
    gpu/      NVIDIA's driver: which GPUs there are, and who uses them
    bind/     a process bound to CPUs and memory, as strongly as this host allows
    docker/   the Docker engine and the words after `docker run`
    wake/     a job that has waited started, without most of Python
    book/     the ledger on disk: each lease taken, changed and freed in one transaction
    run/      a command or a container under a lease, from its first step to its end
    audit/    what was promised, compared with what the kernel says
    measure/  what the machine and a command really gain by nearness
    setup/    a host made ready for many users, and what is done there each minute

`session` is where a command of the terminal or the agent begins: it finds the ledger and the machine. `run` and
`audit` stand on it and know nothing of each other; `book` knows `docker` and `bind`, never the other way round.
`unix_http` is HTTP through a socket of this host, for `docker` and for the agent.

The one hard idea: whatever is killed, and whenever, nothing is held twice and nothing stays held for ever. So a lease
is written down before anything starts, and freed only when it is certain that nobody uses it. Doubt keeps it.
"""
