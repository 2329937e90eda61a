"""All findings about one kubelet: what keeps it from starting, then what it does other than meant.

text       one kubelet as its files describe it, and where each of its settings stands
start      every refusal of the engine, where the kubelet stops at the first; a stand-in where no machine is given
spelling   values that are meant right and written wrong, and the edit that corrects them
surprises  a kubelet that starts, but not as its author thinks
kubelet    the front door: start, once as written and once corrected, then surprises

`kubelet` calls the others; `start` and `spelling` call `text`.
"""
