"""Machines that numafit knows by name, to try things and to plan with.

    names   the table of names, one line about each, and `machine_named`
    plain   machines without accelerators
    gpu     machines with GPUs

`names` alone is called from outside. Each machine is a function of `plain` or `gpu`; most are a `machine.shape`
with a few corrections. Each number is taken from a page that the comment beside it names; what is a guess is called
so there, and is listed under `Machine.assumed` where that has a word for it.
"""
