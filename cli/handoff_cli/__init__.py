"""Handoff in the terminal: a client of the service's HTTP contract."""

__version__ = "0.2.0"
