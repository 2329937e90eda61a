"""The agent: a node is shown in a page, by an HTTP API and as metrics, for as long as somebody wants it.

    node       the node that is shown, what may happen to it, and the protocol of a source
    sources/   where it comes from: this machine, a kubelet's folder, a demonstration
    board      what is shown now and was shown before; tells all who listen (`broadcast`)
    past       what jobs and NUMA nodes did in the last hour
    recent     how busy the machine was in the last minutes
    workers/   questions are answered in processes of their own, so that a bad one can be stopped with its process
    leases     the leases of this host, for the API
    api/       the operations, the OpenAPI document, the guard at the door, the stream of events
    metrics/   what Prometheus reads
    app        all of it as one ASGI application; `server` listens, `client` asks another agent
    fleet/     the same for all nodes of a cluster
    problem    an answer that is no answer (RFC 9457)
    page/      the built page; its source lies in `page/` of the repository

Read `node`, `board`, `app`, then one operation in `api.operations` down to its answer in `workers.answer`. Changes
flow one way: a source yields them, the application hands them to the board, the board remembers and broadcasts.
Requests only read the board.

Hard to see: two nodes are kept for a host. Questions about pods ask a kubelet that would run here (`Change.stage`),
while the picture shows the leases, which need none (`Change.viewed`).
"""
