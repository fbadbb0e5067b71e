"""One process on one SQLite file: the service for a laptop, a workstation or a small server."""
