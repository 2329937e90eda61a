"""What the kubelet speaks over its sockets: device plugins (v1beta1) and PodResources (v1), as gRPC.

    services              the calls of each service by their names, to serve them and to make them
    device_plugin_pb2     messages of device plugins, made from device_plugin.proto
    pod_resources_pb2     messages of PodResources, made from pod_resources.proto

The `.proto` files are ours: names and numbers, which are all that the wire knows. `./dev wire` makes the modules
called `_pb2` from them, `./dev wire check` and a test compare. Services are not generated: a table in `services` says
as much, with types.
"""
