"""What providers of remote models share: one call with its limits, retries, events and costs.

A provider subclasses `remote.RemoteProvider`; README.md beside this file shows how.
"""
