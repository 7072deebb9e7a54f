"""Three orchestrators on one engine: `loop-basic`, `loop-streaming`, `loop-events`.

`turn.py` is the engine. The files named after the module ids say only where they differ.
"""
