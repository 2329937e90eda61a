"""NVIDIA's driver, asked through its management library (NVML), which is an extra and need not be there.

`nvml` describes the GPUs of this machine and their links as a part of a machine; `users` says which process uses
which GPU; `busy` how busy each is and how much of its memory is in use; `watch` which GPUs can be handed out whole, and
which of them broke. All raise `InputError` where library or driver are missing, which is the normal case on most
machines; a single question that the driver does not answer is left unknown.

The driver counts processes in the pid namespace of the host: inside a container it names none or others.
"""
