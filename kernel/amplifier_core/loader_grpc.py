"""Names under which older code looks for the gRPC transport; the real one is in `transports`."""

from .transports.grpc.older_names import GrpcToolBridge, _extract_endpoint, load_grpc_module  # noqa: F401
