"""The agent on the command line: `serve` starts it, `metrics` lists what it measures.

Both load the service only when they are called: without its HTTP libraries every other command still works.

Other commands ask a running agent with `--agent`: those about pods through `options.agent`, `ps` and `free` in
`host.leases`. All of them speak through `service.client`.
"""
