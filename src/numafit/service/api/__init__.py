"""The HTTP API: what may be asked, who may ask, and how it is answered.

    operations   all operations in one table: routes and the OpenAPI document are made from it
    handlers     one method for each operation that is no plain question
    openapi      the document; `docs` is the same as a page for people
    stream       server-sent events
    guard        which requests come in at all: names, origins, tokens, and the headers of each answer
    access       wrong tokens are answered late, and each request can be told to a log
    peer         who is at the other end of a unix socket, as the kernel tells it; impatience with slow heads
    examples     pods to try things with
    static       the files of the page, read at start

A new operation is a line in `operations`, its type, and a handler; a question needs no handler but an entry in
`workers.question` and `workers.answer`. Nothing in here decides: it asks the board, a worker or the leases. No path
of a request reaches the file system.
"""
