"""Sessions that survive: one append-only log each, from which everything else is computed."""
