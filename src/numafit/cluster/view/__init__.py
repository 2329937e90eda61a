"""The cluster looked at once, for people's questions: `kubectl numafit`, which is `numafit fleet`, too.

    rights      what one must be allowed to see, and the rule to add where that lacks
    seen        the fleet at one look, the reports it stands on, and what could not be seen
    reading     Nodes, NodeTopologies and pods, listed at once
    found       the pods that somebody means by `pod/NAME` or `deploy/NAME`
    accounts    how a pod stands: where it sits, why it was rejected, why it waits
    stale       agents whose reports are older than their nodes
    checks      configuration and release of every node: what is wrong with which

`reading` makes a `FleetBook` as `live` keeps one, so whoever asks here gets the answers of the placer. What may not be
seen is left out, and said. What is computed is in `fleet/look` and `fleet/waiting`; nothing here prints.
Only `reading` and `stale` speak to the server, and need the extra.
"""
