"""What a kubelet's log tells of admissions: which pod, which hints, what the merge came to, how it ended, and why.

A log passes through in this order:

wrapping   lines taken out of what journalctl and Docker write as JSON
styles     one line in the JSON style, or as the sentences of 1.20
lines      bytes to the lines that matter, each a message with its fields, whatever the style
values     hints, lists and CPU sets in the three ways that releases print them
kubelet    what the lines tell of the kubelet that wrote them: release, policy, scope, NUMA nodes
admission  lines that say a pod was rejected; one attempt to admit a pod, as it grows line by line
reader     lines put together to admissions
loops      a pod that is rejected, made again and rejected again
report     a whole log, plain or gzip, read once in bounded memory
merges     is a logged merge the one that the engine computes from the same hints?
story      an admission told
agreement  what a log says of pods, beside what is predicted for them

The hard idea: in most releases several of the lines name no pod. They belong together by their order alone, because
the kubelet admits one pod after the other; only the end may come later, and it names its pod. Lines may be cut or
missing, so every value can be unknown, and the story says so instead of guessing. The regular expressions in here
read what kubelets wrote, never a message of our own.
"""
