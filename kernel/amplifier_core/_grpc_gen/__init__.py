"""Generated from `spec/amplifier_module.proto` by `scripts/generate_grpc.py`."""
