"""A small server for what others ask of us: HTTPS with certificates from files or from memory, and plain HTTP.

    certificates  what is shown to clients and whom to trust; files are read again when they change
    messages      what is asked and answered, and the bounds for it
    short         requests of the plainest form, which need no parser
    server        connections that stay open, each request answered by one function

API servers ask webhooks, schedulers ask extenders: few connections, which stay open, with large contents. HTTP/1.1 on
asyncio, parsed by h11, as in `kube/connection`, where the shorter way does not do.
"""
