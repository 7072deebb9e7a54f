"""The bundled modules, one folder each; found by entry point, never imported by name."""
