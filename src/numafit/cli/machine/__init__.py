"""Looking at a machine: this one, a described one, or one of the catalogue.

    group     `numafit machine` and its table of commands
    show      a drawing, a table, a picture, or the machine file
    links     how the GPUs reach each other, and which sets belong together
    list      the machines known by name
    convert   the formats of other tools
    capture   what numafit reads of this machine, in a small .tgz

Each takes `--machine` (`options.machine`), and tells what its sources disagree about.
"""
