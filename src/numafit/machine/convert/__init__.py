"""A machine in the formats of other tools: text out, nothing read.

    numactl     what `numactl --hardware` would print
    synthetic   hwloc's synthetic language, for machines that are regular enough
    nccl        a topology file for NCCL
    nrt         zones of a NodeResourceTopology object

They do not know each other. What a format has no place for is left out; a machine that it cannot describe is
refused.
"""
