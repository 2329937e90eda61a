"""Processes as the kernel tells of them: everything here is read from /proc and the mounted cgroups, nothing is
changed.

`identity` says which process is meant and whether it still lives, and walks over processes, threads, children and
users. `cpuset` is the cpuset that a process lives in, `unit` its unit of systemd, `numa_maps` where its pages lie;
`hidepid` says whether processes of others are hidden. `observation` gathers what is to be seen of one process, and the
GPUs from `gpu`, into one value for the audit. `locks` says who holds the lock on a file.

The hard part: a process id names another process after a while, means others in another pid namespace, and may be
hidden. What cannot be told from here is answered by None and never guessed, for leases are freed on this word.

Every function takes the folder that /proc is, so that tests can make one up.
"""
