"""What a prediction rests on beside what was told, worked out from the run itself.

assumed  what was guessed of the machine and matters to these pods under this kubelet
unsure   decisions that would be others if a guess about the machine is wrong: the run is played on the alternatives
other    another outcome as a value, with what it depends on
script   choices that fall as a script says
orders   other orders in which a kubelet that starts admits its static pods
chance   what else could have come out where the kubelet leaves a decision to chance

`decision.notes` says it in words; they run only where there is something to doubt.
"""
