"""Mistakes in files, before a kubelet, a pod or a user meets them: files in, findings out.

findings  the codes with severity and title; a finding with its position, cure and edit
unknown   files in which there is nothing that lint knows: what they seem to be
pages     what a file holds, recognised by content: kubelet configurations, flags, pods, plugin configurations
kubelet/  all findings about one kubelet
pod/      all findings about one pod
plugin    NVIDIA's device plugin: its configuration and its own pod
lint      the front door: judges together what was given together
manual    the page of each code, which lies beside it as Markdown

`lint` calls the judges, they call `pages` and `findings`; `plugin` also reads pods by `pod.text`, and `kubelet` and
`pod` do not know each other. A finding always has a position in a file that a person gave.

The kubelet stops at the first error; `advice.inspection` goes on after it, and lint looks a second time at a text in
which what was only misspelt is corrected.
"""
