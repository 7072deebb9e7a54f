"""The memory of a conversation: `context-simple` in memory, `context-persistent` on disk too.

The history is a list that only grows. What a request shows of it is a view, which compaction
may shorten; between two compactions the view only grows as well, so that prompt caches hit.
"""
