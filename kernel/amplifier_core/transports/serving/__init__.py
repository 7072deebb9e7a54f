"""Serves an ordinary Python module over gRPC, to this kernel's sessions or to other hosts."""
