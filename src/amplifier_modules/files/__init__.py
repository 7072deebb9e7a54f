"""Files for an agent: `tool-filesystem` reads, writes and edits, `tool-search` greps and globs.

Both keep to one path policy, which is applied to what was really opened.
"""
