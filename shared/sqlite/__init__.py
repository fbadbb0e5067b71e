"""The ports on one SQLite file: tables, queues and secrets of a service on one machine."""
