"""Machines and devices in a few words, for planning with what one does not have.

    line        numafit's own sketch: `2 sockets x 8 cores x 2 threads, 64Gi per numa, gpu 0@0 1@1`
    synthetic   hwloc's synthetic language: `Package:2 NUMANode:2 Core:4 PU:2`
    devices     the words of `--device`: `nvidia.com/gpu=gpu0@0,gpu1@1`

`line.read_sketch` is the front door for both languages; it makes a `machine.shape` and lets that build the machine.
`synthetic` builds its own, for its levels may be numbered in any way. `devices` stands alone. Complaints about the
two languages name the column of what is wrong.
"""
