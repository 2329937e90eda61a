"""The device manager: which devices of a plugin's resource a container gets.

- `plugin`: a device plugin as the manager meets it: what it prefers, what its Allocate answers.
- `manager`: `DeviceManager`, its hints, allocations and what counts as free.
- `pick`: one pick of devices for one resource of one container, step by step.
- `registration`: plugins that end, are given up, or share a resource.
- `start`: what the manager knows when the kubelet starts over its file.

`manager` makes a `DevicePick`, which asks back for the plugins and the release's behaviour; both know `plugin`.

The hard idea: taking an id marks it as allocated at once, and a pick that fails later does not give it back. The
kubelet leaves such ids blocked until its sets are made anew, as when a pod has gone away.
"""
