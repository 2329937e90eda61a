"""What a prediction rests on beside what was told, worked out from the run itself.

assumed  what was guessed of the machine and matters to these pods under this kubelet
unsure   decisions that would be others if a guess about the machine is wrong: the run is played on the alternatives
chance   what else could have come out where the kubelet leaves a decision to chance

`decision.notes` says it in words; all three run only where there is something to doubt.
"""
