"""Options that several commands share, each up to the value that it stands for.

    one_of    one word out of several, with the one that was probably meant
    extra     packages that only a cluster needs
    machine   `--machine`: files, folders, names, sketches, this machine; combined to one
    node      machine, kubelet, release, state and pods, as they were typed
    stage     those as a node that has started, and the pods to play on it
    state     `--state`: the state files of a kubelet
    facts     `--allocatable`, and what a Node object tells that no machine shows
    case      a node that was pulled from a cluster: what in its folder is what
    published what numafit's agent on such a node tells of it, in the place of guesses
    claims    devices that resource claims give to pods, in files beside theirs
    events    `--events`: what happens beside pods that come
    past      `--past`: the same, from a log or from API objects
    agent     `--agent` in the place of those
    answer    `--strict` and `--check`: the notes below an answer, and its exit status
    live      `--node`: the same, pulled now
    simulated a file of nodes to simulate
    lease     CPUs, memory, devices, policy and waiting: what is asked of this host; `--state-dir`
    asked     the value that these stand for

A decorator adds the options and hands them to the command as one value. `agent` and `live` go above `node`, whose
parameters they fill.
"""
