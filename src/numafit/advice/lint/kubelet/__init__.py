"""All findings about one kubelet: what keeps it from starting, then what it does other than meant.

start      every refusal of the engine, where the kubelet stops at the first; a stand-in where no machine is given
spelling   values that are meant right and written wrong, and the edit that corrects them
surprises  a kubelet that starts, but not as its author thinks
kubelet    the front door: start, once as written and once corrected, then surprises

`kubelet` calls the others; all of them know a kubelet as `advice.inspection.text` has it.
"""
