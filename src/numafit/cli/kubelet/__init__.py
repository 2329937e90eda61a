"""What would a kubelet do: commands that need no kubelet, no cluster and no root.

    simulate   pods one after the other, and who gets what
    explain    why; with `--log` (`log`) from the log of a real kubelet
    advise     what to change so that a pod fits
    fit        how many more fit
    compare    the same pods under two kubelets
    lint       mistakes in files
    doctor     would it start, and does its state make sense
    replay     recorded decisions of real kubelets, decided again; `run_folder` reads a whole run kept as a folder

All but `lint` and `replay` take the options that describe a node (`options.node`); most can ask on top of a running
agent (`options.agent`). Exit status 0 is an answer, 2 bad input; 1 is bad news where `--check` asks for it, and what
lint, doctor and replay found.
"""
