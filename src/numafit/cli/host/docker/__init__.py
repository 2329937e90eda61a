"""`numafit docker`: containers on CPUs, memory and GPUs that are held for them.

    group   the table of its commands, each loaded only when it is called
    run     starts a container under a lease, as `docker run` does
    plan    prints the options for Docker, or reviews the lines of a script; takes nothing
    compose plans the services of a compose file, and writes a second file that pins them
    adopt   puts a running container under a lease
    podman  `run` and `adopt` for Podman: the same with another client

What Docker is told, and what its engine answers, is in `host/docker`.
"""
