"""The terminal side of Handoff: a thin client of the service's HTTP contract."""
