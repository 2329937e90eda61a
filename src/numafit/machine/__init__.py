"""What is there: the hardware of one node as a frozen value, wherever its description comes from.

Read `model` first: `Machine` and its parts. Everything else makes one, asks one or writes one.

    model      CPUs, caches, NUMA nodes, devices, links
    order      in which order the kubelet meets CPUs and NUMA nodes; orders that have a name
    uncore     which last-level caches the kubelet calls uncore caches
    topology   the CPUs as the kubelet's CPU manager sees them, for one release
    links      kinds of links between devices, what they mean and carry; the way over PCIe from places alone
    gpu_sets   which GPUs belong together, the best set of a size, and why
    shape      a regular machine by its numbers
    source     a machine with what told of it; who is believed first
    notes      what a description does not tell, in people's words
    alternatives  other machines that its sources do not rule out
    read/      one reader for each kind of description; `read.recognise` finds out which one it is
    combine/   several partial machines made one, with what their sources disagree about
    file/      the machine file, both ways
    sketch/    a machine in one line, hwloc's synthetic language, the words of `--device`
    catalogue/ machines known by name
    convert/   a machine in the formats of other tools

`read`, `combine`, `catalogue` and `convert` do not know each other. They may use `file` and `sketch`, and all of
them use the modules above. Nothing here knows a kubelet's settings: `topology` asks for the few rules it needs by a
protocol.

The hard idea: a machine may be partial. A reader leaves what its source does not say at its default, or fills in a
stand-in and lists it under `Machine.assumed`; a source that states the thing is then right without a dispute.
"""
