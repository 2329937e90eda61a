"""One module for each family of recordings: from the `input` of a case to what its `expect` should say.

scenario    node, memory, devices, seed: a node starts, pods come and go, plugins change, the kubelet restarts
run         a whole run: all that can happen to a node, with the check of what it offers as a whole
cpu_assign  which CPUs a static policy takes, apart from everything else
hint_merge  what the topology manager makes of given hints
checkpoint  what is written to a state file, or made of its bytes
validation  what becomes of a parsed KubeletConfiguration

They do not know each other; `replay` chooses by the name of the family. An error of the kubelet is a result here, not
an exception: it stands in the answer in the field where the recording has it.
"""
