"""One kubelet as it was written: where each setting stands, every mistake in it, and what could not be checked.

places      a position in a file; a document or a file of flags with the positions of everything in it
text        one kubelet as its files describe it, and where each of its settings stands
checks      what is checked of a start, by which values; a check that lacks one of them
sources     files and flags without what the kubelet cannot read in them
config      a configuration in which what was refused is put right, or left out
inspection  the front door: every mistake, where the kubelet stops at the first

The kubelet's start (`decision.start`) ends at its first refusal. `inspection` walks through it again and again: each
time what was refused is put right as its cure says, or taken out where nobody can tell what is meant. A later refusal
counts only if the values that it stands on are the ones that a person wrote; else the check is listed as not made.
"""
