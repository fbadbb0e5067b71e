"""Ports of use cases and store to the outside: one module per role."""
